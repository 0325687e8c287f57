// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/online/same_element.h"

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

namespace tartan::poly {
namespace {

using math::Affine;
using math::RangeConstraint;

// Rewrites an affine function with variables for the row axes, followed by the key index. Returns
// nothing if it depends on other indices.
std::optional<Affine> ByAxes(const Affine& poly, const KeyLoopKernel& of) {
  std::vector<int> axes = of.kernel.axes;
  axes.push_back(of.key_index);
  Affine by_axes = Affine::Constant(poly.constant);
  for (int i = 0; i < static_cast<int>(poly.coefficients.size()); ++i) {
    if (poly.coefficient(i).is_zero()) continue;
    const auto axis = std::find(axes.begin(), axes.end(), i);
    if (axis == axes.end()) return std::nullopt;
    by_axes.set_coefficient(static_cast<int>(axis - axes.begin()), poly.coefficient(i));
  }
  return by_axes;
}

class Comparison {
 public:
  Comparison(const KeyLoopKernel& a, const KeyLoopKernel& b) : a_(a), b_(b) {}

  bool Same(const ExprPtr& a, const ExprPtr& b) const {
    if (a->type != b->type || a->node.index() != b->node.index()) return false;
    if (const auto* literal = std::get_if<Literal>(&a->node)) {
      return literal->value == std::get<Literal>(b->node).value;
    }
    if (const auto* read = std::get_if<Read>(&a->node)) {
      return SameRead(read->access, std::get<Read>(b->node).access);
    }
    if (const auto* coordinate = std::get_if<Coordinate>(&a->node)) {
      return SamePoly(coordinate->poly, std::get<Coordinate>(b->node).poly);
    }
    if (const auto* in_range = std::get_if<InRange>(&a->node)) {
      return SameConstraints(in_range->constraints, std::get<InRange>(b->node).constraints);
    }
    if (const auto* apply = std::get_if<Apply>(&a->node)) {
      return SameApply(*apply, std::get<Apply>(b->node));
    }
    return false;
  }

 private:
  bool SamePoly(const Affine& a, const Affine& b) const {
    const std::optional<Affine> by_axes = ByAxes(a, a_);
    return by_axes.has_value() && by_axes == ByAxes(b, b_);
  }

  bool SameConstraints(const std::vector<RangeConstraint>& a,
                       const std::vector<RangeConstraint>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const RangeConstraint& of_a, const RangeConstraint& of_b) {
                        return of_a.range == of_b.range && SamePoly(of_a.poly, of_b.poly);
                      });
  }

  bool SameApply(const Apply& a, const Apply& b) const {
    return a.op == b.op &&
           std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                      [&](const ExprPtr& of_a, const ExprPtr& of_b) { return Same(of_a, of_b); });
  }

  bool SameRead(int a, int b) const {
    const TensorAccess& of_a = a_.kernel.flat.accesses[a];
    const TensorAccess& of_b = b_.kernel.flat.accesses[b];
    const Tensor& tensor_a = a_.kernel.flat.tensors[of_a.tensor];
    const Tensor& tensor_b = b_.kernel.flat.tensors[of_b.tensor];
    return a_.kernel.tensors[of_a.tensor] == b_.kernel.tensors[of_b.tensor] &&
           tensor_a.value == tensor_b.value && tensor_a.shape == tensor_b.shape &&
           SameConstraints(of_a.guard, of_b.guard) &&
           std::equal(of_a.coords.begin(), of_a.coords.end(), of_b.coords.begin(),
                      of_b.coords.end(),
                      [&](const Affine& at_a, const Affine& at_b) { return SamePoly(at_a, at_b); });
  }

  const KeyLoopKernel& a_;
  const KeyLoopKernel& b_;
};

}  // namespace

bool AreSameElement(const ExprPtr& expr, const KeyLoopKernel& of, const ExprPtr& other,
                    const KeyLoopKernel& of_other) {
  return Comparison(of, of_other).Same(expr, other);
}

}  // namespace tartan::poly
