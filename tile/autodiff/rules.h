// SPDX-License-Identifier: Apache-2.0
// The derivative of each operation. A rule is told the value, the derivative of the loss by it, and
// which operands are of interest; it says the derivative by each of these.
#pragma once

#include <vector>

#include "tile/autodiff/emitter.h"
#include "tile/autodiff/gradient_options.h"

namespace tartan::autodiff {

// One operation whose gradient is being taken.
struct Site {
  ValueId value = ir::kNoValue;
  ValueId gradient = ir::kNoValue;  // of the value's shape and, for floats, type
  Ties ties = Ties::kShare;
  bool straight_through = false;  // roundings have the derivative 1
  // Per entry of ir::Operands(op): whether its derivative is wanted.
  std::vector<bool> wanted;
};

// Per operand its part of the derivative, kNoValue for none. A part may still have to be summed
// over broadcast axes and converted: Emitter::SumTo.
using Parts = std::vector<ValueId>;

// round, floor, ceil, trunc.
bool IsRounding(ScalarOp op);

Parts ElementwiseGradient(Emitter& emit, const ir::Elementwise& op, const Site& site);
Parts ContractionGradient(Emitter& emit, const ir::Contraction& op, const Site& site);
Parts SpecialGradient(Emitter& emit, const ir::Special& op, const Site& site);
// kScatter, kScatterElements and kScatterNd.
Parts ScatterGradient(Emitter& emit, const ir::Special& op, const Site& site);

}  // namespace tartan::autodiff
