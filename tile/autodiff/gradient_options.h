// SPDX-License-Identifier: Apache-2.0
// Options of a gradient computation.
#pragma once

#include <vector>

#include "tile/ir/program.h"

namespace tartan::autodiff {

// Distribution of the gradient of a maximum or minimum that several values attain.
enum class Ties {
  kShare,  // equal shares for all of them
  kFirst,  // everything to the first: the left operand, or the first element in row-major order
};

struct GradientOptions {
  Ties ties = Ties::kShare;
  // False: the loss is the sum of all elements of the outputs. True: the loss is the sum of outputs
  // times seeds. The program gets one seed input per output that takes part, with the shape of the
  // output's gradient and the output's name plus "_seed".
  bool seeded = false;
  // Positions in program.outputs of the outputs that take part; empty: all. Integers take part
  // only with straight_through, bools never.
  std::vector<int> outputs;
  // Straight-through estimator: roundings and conversions to integers have the derivative 1 instead
  // of 0. Gradients pass through quantized values, and are 0 where these are clipped to their
  // range. Gradients of integers are float32. In a maximum or minimum with an operand that has no
  // gradient, the other operand gets everything at a tie: the ends of a range are inside.
  bool straight_through = false;
  // Values that stop the gradient.
  std::vector<ir::ValueId> stops;
};

}  // namespace tartan::autodiff
