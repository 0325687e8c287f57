// SPDX-License-Identifier: Apache-2.0
// From a group of a program's values to the kernel that computes them: the contraction's index
// space, with producers that are not in memory substituted into its body and the operations after
// it as epilogues.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"
#include "tile/poly/analysis/analyze_program.h"
#include "tile/poly/flat_contraction.h"
#include "tile/poly/index_space.h"

namespace tartan::poly {

// A contraction with at most one index point per output element, whose output indices are its
// dimensions: it only moves or combines elements and can be computed wherever it is read.
bool MovesElements(const IndexSpace& space);

// Requires: group.root is kNoValue or a contraction. Where its space does not cover the output, the
// caller fills the output beforehand.
absl::StatusOr<FlatContraction> BuildKernel(const ir::Program& program, const ProgramSpaces& spaces,
                                            const ir::Grouping& grouping,
                                            const ir::KernelGroup& group);

// The kernel that writes a tensor's elements in another type: `to` has as many as `from`, and its
// expression is set here.
FlatContraction BuildConversion(std::string name, Tensor from, Output to);

}  // namespace tartan::poly
