// SPDX-License-Identifier: Apache-2.0
// What a caller may choose about a gradient.
#pragma once

#include <vector>

#include "tile/ir/program.h"

namespace tartan::autodiff {

// What becomes of the gradient of a maximum or minimum that several values attain.
enum class Ties {
  kShare,  // equal parts for all of them
  kFirst,  // all for the first: the left operand, or the first element in row-major order
};

struct GradientOptions {
  Ties ties = Ties::kShare;
  // False: the loss is the sum of all elements of the outputs. True: the program gets one more
  // input for every output of a float type that takes part, of the output's shape and named after
  // it with "_seed"; the loss is the sum of outputs times seeds.
  bool seeded = false;
  // Positions in program.outputs of those that take part; empty: all. Outputs that are no floats
  // never do.
  std::vector<int> outputs;
  // A rounding, or a conversion to integers, has the derivative 1 instead of 0: gradients pass
  // through numbers that are quantised, and vanish where these are cut off at the ends of their
  // range. Derivatives by integers are float32.
  bool straight_through = false;
  // Values through which no gradient passes.
  std::vector<ir::ValueId> stops;
};

}  // namespace tartan::autodiff
