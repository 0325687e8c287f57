// SPDX-License-Identifier: Apache-2.0
// Between which values of a program there is a derivative.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tile/autodiff/gradient_options.h"

namespace tartan::autodiff {

// Per value of the program: whether it depends on one of these inputs (positions in program.inputs)
// by a path on which each operation has a derivative: of floats, and of none that is constant
// between steps, as a rounding. With options.straight_through also of integers and roundings. None
// leads through options.stops.
std::vector<bool> FindDependents(const ir::Program& program, absl::Span<const int> inputs,
                                 const GradientOptions& options);

// Per input of the program, and per output: whether there is a derivative of the output by it.
std::vector<std::vector<bool>> FindDerivatives(const ir::Program& program,
                                               const GradientOptions& options = {});

// The type in which derivatives by values of a type are: itself for floats, float32 for integers
// that gradients pass through.
DataType GradientType(DataType type);

}  // namespace tartan::autodiff
