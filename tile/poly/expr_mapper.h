// SPDX-License-Identifier: Apache-2.0
// Rebuilds expressions with replaced parts.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::poly {

// Returns the constraints with `map` applied to their affine functions.
std::vector<math::RangeConstraint> MapConstraints(
    std::vector<math::RangeConstraint> constraints,
    const std::function<math::Affine(const math::Affine&)>& map);

// Maps expressions. Subexpressions shared between expressions of one mapper stay shared.
class ExprMapper {
 public:
  // Replacements for leaves (expressions without operands), tensors read at computed coordinates,
  // and affine functions of guards and choices. Coordinate and InRange are leaves, which `leaf`
  // must map.
  struct Parts {
    std::function<ExprPtr(const ExprPtr&)> leaf = [](const ExprPtr& expr) { return expr; };
    std::function<int(int)> tensor = [](int number) { return number; };
    std::function<math::Affine(const math::Affine&)> poly = [](const math::Affine& poly) {
      return poly;
    };
  };
  explicit ExprMapper(Parts parts) : parts_(std::move(parts)) {}

  ExprPtr Map(const ExprPtr& expr);  // null maps to null

 private:
  std::vector<ExprPtr> MapAll(std::vector<ExprPtr> exprs);

  const Parts parts_;
  std::unordered_map<const Expr*, ExprPtr> done_;
};

}  // namespace tartan::poly
