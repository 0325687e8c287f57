// SPDX-License-Identifier: Apache-2.0
// Finds the values of a program that have a derivative with respect to given inputs.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "tile/autodiff/gradient_options.h"

namespace tartan::autodiff {

// Returns, per value, whether it depends differentiably on one of `inputs` (positions in
// program.inputs).
// Every operation on the path must have float values, and must not be piecewise constant, such as a
// rounding. With options.straight_through, integers and roundings are allowed, too. No path leads
// through options.stops.
std::vector<bool> FindDependents(const ir::Program& program, absl::Span<const int> inputs,
                                 const GradientOptions& options);

// Returns, per input and output of the program, whether the output has a derivative with respect to
// the input.
std::vector<std::vector<bool>> FindDerivatives(const ir::Program& program,
                                               const GradientOptions& options = {});

// Returns true if values of `type` can carry gradients: floats, and integers with
// options.straight_through.
bool MayHaveDerivative(DataType type, const GradientOptions& options);

// Returns the type of gradients of values of `type`: the type itself for floats, float32 for
// integers.
DataType GradientType(DataType type);

}  // namespace tartan::autodiff
