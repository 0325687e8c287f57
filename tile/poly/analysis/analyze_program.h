// SPDX-License-Identifier: Apache-2.0
// The index spaces of a whole program.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/ir/program.h"
#include "tile/poly/index_space.h"

namespace tartan::poly {

// The index space of every contraction of a program; empty for other values.
using ProgramSpaces = std::vector<std::optional<IndexSpace>>;
absl::StatusOr<ProgramSpaces> AnalyzeProgram(const ir::Program& program);

}  // namespace tartan::poly
