// SPDX-License-Identifier: Apache-2.0
// Index spaces of all contractions of a program.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/ir/program.h"
#include "tile/poly/analysis/index_space.h"

namespace tartan::poly {

// Per value: the index space of a contraction; nothing for other values.
using ProgramSpaces = std::vector<std::optional<IndexSpace>>;
absl::StatusOr<ProgramSpaces> AnalyzeProgram(const ir::Program& program);

}  // namespace tartan::poly
