// SPDX-License-Identifier: Apache-2.0
// Expressions rebuilt with other parts.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// The constraints over what `map` makes of their functions.
std::vector<math::RangeConstraint> MapConstraints(
    std::vector<math::RangeConstraint> constraints,
    const std::function<math::Affine(const math::Affine&)>& map);

// What is shared between the expressions that one mapper maps stays shared.
class ExprMapper {
 public:
  // What becomes of an expression without operands, of a tensor read at computed coordinates and of
  // the affine functions of guards and choices. Those of coordinates and ranges are in leaves.
  struct Parts {
    std::function<ExprPtr(const ExprPtr&)> leaf = [](const ExprPtr& expr) { return expr; };
    std::function<int(int)> tensor = [](int number) { return number; };
    std::function<math::Affine(const math::Affine&)> poly = [](const math::Affine& poly) {
      return poly;
    };
  };
  explicit ExprMapper(Parts parts) : parts_(std::move(parts)) {}

  ExprPtr Map(const ExprPtr& expr);  // null stays null

 private:
  std::vector<ExprPtr> MapAll(std::vector<ExprPtr> exprs);

  const Parts parts_;
  std::unordered_map<const Expr*, ExprPtr> done_;
};

}  // namespace tartan::poly
