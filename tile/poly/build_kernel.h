// SPDX-License-Identifier: Apache-2.0
// Builds the kernel of a fusion group: the contraction's index space, with inlined producers in its
// body and the operations after it as epilogues.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"
#include "tile/poly/analysis/analyze_program.h"
#include "tile/poly/analysis/index_space.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Returns true for a contraction with at most one index point per output element whose output
// indices are its dimensions. It only moves or combines elements, so it can be inlined into any
// reader.
bool MovesElements(const IndexSpace& space);

// Requires that group.root is kNoValue or a contraction. If its space does not cover the output,
// the caller must fill the output first.
absl::StatusOr<FlatContraction> BuildKernel(const ir::Program& program, const ProgramSpaces& spaces,
                                            const ir::Grouping& grouping,
                                            const ir::KernelGroup& group);

// Builds the kernel that converts a tensor to another type. `to` has as many elements as `from`;
// its expression is set here.
FlatContraction BuildConversion(std::string name, Tensor from, Output to);

}  // namespace tartan::poly
