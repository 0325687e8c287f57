// SPDX-License-Identifier: Apache-2.0
// Gradient rules, one per kind of operation. A rule gets an operation with the gradient of its
// result, and returns the gradients of the wanted operands.
#pragma once

#include <vector>

#include "tile/autodiff/emitter.h"
#include "tile/autodiff/gradient_options.h"

namespace tartan::autodiff {

// The operation that a rule differentiates. `value` is its result.
struct Site {
  ValueId value = ir::kNoValue;
  ValueId gradient = ir::kNoValue;  // shape of the value and, for floats, its type
  Ties ties = Ties::kShare;
  bool straight_through = false;  // roundings have the derivative 1
  // Per entry of ir::Operands(op): whether its gradient is wanted.
  std::vector<bool> wanted;
};

// Gradients per operand; kNoValue for none. A gradient may still need a sum over broadcast axes and
// a conversion (Emitter::SumTo).
using Parts = std::vector<ValueId>;

// Returns true for round, floor, ceil and trunc.
bool IsRounding(ScalarOp op);

Parts ElementwiseGradient(Emitter& emit, const ir::Elementwise& op, const Site& site);
Parts ContractionGradient(Emitter& emit, const ir::Contraction& op, const Site& site);
Parts SpecialGradient(Emitter& emit, const ir::Special& op, const Site& site);
// Handles kScatter, kScatterElements and kScatterNd.
Parts ScatterGradient(Emitter& emit, const ir::Special& op, const Site& site);

}  // namespace tartan::autodiff
