#include "tile/poly/paired_product.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/poly/rewrite_kernel.h"
#include "tile/poly/value_range.h"

namespace tartan::poly {
namespace {

using math::Affine;
using math::Interval;
using math::RangeConstraint;
using math::Rational;

constexpr Interval kInt16{-32768, 32767};

// The values that a function of the indices takes.
Interval Reach(const Affine& coord, absl::Span<const Index> indices) {
  Interval reach{coord.constant.numerator(), coord.constant.numerator()};
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t step = coord.coefficient(static_cast<int>(i)).numerator();
    (step < 0 ? reach.min : reach.max) += step * (indices[i].range - 1);
  }
  return reach;
}

// `poly` as `factor * base + constant`; empty where it is not.
struct Multiple {
  Rational factor;
  Rational constant;
};
std::optional<Multiple> AsMultiple(const Affine& poly, const Affine& base) {
  for (size_t i = 0; i < base.coefficients.size(); ++i) {
    const int variable = static_cast<int>(i);
    if (base.coefficient(variable).is_zero()) continue;
    const Rational factor = poly.coefficient(variable) / base.coefficient(variable);
    const Affine rest = poly - base * factor;
    if (!rest.is_constant()) return std::nullopt;
    return Multiple{factor, rest.constant};
  }
  return std::nullopt;
}

// One factor as a kernel of its own, over all values of the coordinates of its largest tensor.
class Factor {
 public:
  // `paired`: the reduced index.
  static std::optional<Factor> Make(const FlatContraction& flat, const ExprPtr& expr, int paired) {
    Factor factor;
    factor.paired_ = paired;
    factor.values_ = ValuesOf(flat, expr);
    if (!factor.FindMain() || !factor.FindBox() || !factor.DependsOnCoordsOnly()) {
      return std::nullopt;
    }
    return factor;
  }

  int64_t pair_count() const { return (box_[paired_dim_].size() + 1) / 2; }

  FlatContraction Pairs(absl::string_view name) const {
    FlatContraction pairs;
    pairs.name = std::string(name);
    pairs.tensors = values_.tensors;
    for (size_t d = 0; d < coords_.size(); ++d) {
      const int64_t range = static_cast<int>(d) == paired_dim_ ? pair_count() : box_[d].size();
      pairs.indices.push_back({absl::StrCat("x", d), range});
      pairs.output_coords.push_back(Affine::Variable(static_cast<int>(d)));
      pairs.output_dims.push_back(range);
    }
    pairs.output_index_count = static_cast<int>(pairs.indices.size());
    const ExprPtr low = Half(0, &pairs);
    const ExprPtr high = Half(pair_count(), &pairs);
    const ExprPtr mask = Number(0xffff);
    const ExprPtr value = Combine(ScalarOp::kBitOr, Combine(ScalarOp::kBitAnd, low, mask),
                                  Combine(ScalarOp::kShiftLeft, high, Number(16)));
    pairs.outputs = {{ir::kNoValue, {DataType::kInt32, pairs.output_dims}, value}};
    return pairs;
  }

  // Where the pair of the kernel's point is.
  std::vector<Affine> PairCoords() const {
    std::vector<Affine> coords;
    for (size_t d = 0; d < coords_.size(); ++d) {
      coords.push_back(coords_[d] - Affine::Constant(box_[d].min));
    }
    return coords;
  }

 private:
  static ExprPtr Number(int64_t value) {
    return Convert(MakeExpr(DataType::kInt64, Literal{value}), DataType::kInt32);
  }
  static ExprPtr Combine(ScalarOp op, ExprPtr a, ExprPtr b) {
    return MakeApply(op, DataType::kInt32, {std::move(a), std::move(b)});
  }

  // An elementwise kernel over all indices of the original.
  static FlatContraction ValuesOf(const FlatContraction& flat, const ExprPtr& expr) {
    FlatContraction values;
    values.indices = flat.indices;
    values.output_index_count = static_cast<int>(flat.indices.size());
    values.tensors = flat.tensors;
    values.accesses = flat.accesses;
    values.outputs = {{ir::kNoValue, {}, expr}};
    DropUnread(&values);
    return values;
  }

  // The largest tensor that is read along the paired index, which alone is in one coordinate.
  bool FindMain() {
    int64_t largest = -1;
    for (const TensorAccess& access : values_.accesses) {
      const int64_t elements = values_.tensors[access.tensor].shape.element_count();
      if (elements <= largest) continue;
      for (size_t d = 0; d < access.coords.size(); ++d) {
        const Affine& coord = access.coords[d];
        if (coord.single_variable() != paired_ || coord.coefficient(paired_) != 1) continue;
        if (!IsAlone(access.coords, d)) continue;
        largest = elements;
        coords_ = access.coords;
        is_guarded_ = !access.guard.empty();
        dims_ = values_.tensors[access.tensor].shape.dims;
        paired_dim_ = static_cast<int>(d);
      }
    }
    return largest > 0;
  }

  // No coordinate but number `d` has the paired index.
  bool IsAlone(absl::Span<const Affine> coords, size_t d) const {
    for (size_t e = 0; e < coords.size(); ++e) {
      if (e != d && !coords[e].coefficient(paired_).is_zero()) return false;
    }
    return true;
  }

  // The elements that the kernel may read: those of the tensor, and around it where a guard tells
  // what is beyond.
  bool FindBox() {
    for (size_t d = 0; d < coords_.size(); ++d) {
      if (!coords_[d].is_integer()) return false;
      Interval reach = Reach(coords_[d], values_.indices);
      if (!is_guarded_) {
        reach = {std::max<int64_t>(reach.min, 0), std::min(reach.max, dims_[d] - 1)};
      }
      if (reach.empty()) return false;
      box_.push_back(reach);
    }
    return box_[paired_dim_].size() == values_.indices[paired_].range;
  }

  // `poly` in terms of the coordinates; empty where they do not tell it.
  std::optional<Affine> OverCoords(const Affine& poly) const {
    if (poly.is_constant()) return poly;
    for (size_t d = 0; d < coords_.size(); ++d) {
      if (const auto multiple = AsMultiple(poly, coords_[d])) {
        return Affine::Variable(static_cast<int>(d), multiple->factor) +
               Affine::Constant(multiple->constant);
      }
    }
    return std::nullopt;
  }

  bool DependsOnCoordsOnly() const {
    bool depends = true;
    MapPolys(values_, [&](const Affine& poly) {
      depends = depends && OverCoords(poly).has_value();
      return poly;
    });
    VisitExprs(values_, [&](const Expr& expr) {
      depends = depends && !std::holds_alternative<ReadAt>(expr.node) &&
                !std::holds_alternative<Choice>(expr.node);
    });
    return depends;
  }

  // The factor's value `ahead` positions of the paired coordinate ahead, 0 beyond its last; adds
  // the reads to `pairs`.
  ExprPtr Half(int64_t ahead, FlatContraction* pairs) const {
    std::vector<Affine> place;
    for (size_t d = 0; d < coords_.size(); ++d) {
      const int64_t first = box_[d].min + (static_cast<int>(d) == paired_dim_ ? ahead : 0);
      place.push_back(Affine::Variable(static_cast<int>(d)) + Affine::Constant(first));
    }
    FlatContraction half =
        MapPolys(values_, [&](const Affine& poly) { return OverCoords(poly)->Substitute(place); });
    const int64_t range = box_[paired_dim_].size();
    const RangeConstraint within{Affine::Variable(paired_dim_) + Affine::Constant(ahead), range};
    const bool ends_early = ahead + pair_count() > range;
    const int before = static_cast<int>(pairs->accesses.size());
    for (TensorAccess& access : half.accesses) {
      if (ends_early) access.guard.push_back(within);
      pairs->accesses.push_back(std::move(access));
    }
    ExprPtr value = MapReads(half.outputs[0].expr, [&](int access) { return before + access; });
    value = Convert(std::move(value), DataType::kInt32);
    if (!ends_early) return value;
    return MakeApply(ScalarOp::kSelect, DataType::kInt32,
                     {MakeExpr(DataType::kBool, InRange{{within}}), value, Number(0)});
  }

  int paired_ = -1;
  FlatContraction values_;
  std::vector<Affine> coords_;  // of the largest tensor's read
  std::vector<int64_t> dims_;   // of that tensor
  bool is_guarded_ = false;
  int paired_dim_ = -1;
  std::vector<Interval> box_;  // per coordinate
};

// The factors of the products that are added up, where they are narrow.
std::optional<std::array<ExprPtr, 2>> NarrowFactors(const FlatContraction& flat) {
  if (!flat.is_reduction() || flat.aggregation != Aggregation::kSum ||
      flat.accumulator_type != DataType::kInt32 || flat.point_count() == 0) {
    return std::nullopt;
  }
  const auto* product = std::get_if<Apply>(&flat.body->node);
  if (product == nullptr || product->op != ScalarOp::kMul || flat.body->type != DataType::kInt32) {
    return std::nullopt;
  }
  for (const ExprPtr& factor : product->operands) {
    const std::optional<Interval> range = ValueRange(flat, factor);
    if (!range || !kInt16.Contains(*range)) return std::nullopt;
  }
  return std::array<ExprPtr, 2>{product->operands[0], product->operands[1]};
}

bool IsConstrained(const FlatContraction& flat, int index) {
  for (const RangeConstraint& constraint : flat.constraints) {
    if (!constraint.poly.coefficient(index).is_zero()) return true;
  }
  return false;
}

}  // namespace

std::optional<PairedProduct> PairProducts(const FlatContraction& flat) {
  const auto exprs = NarrowFactors(flat);
  if (!exprs) return std::nullopt;
  int paired = -1;
  std::optional<Factor> left;
  std::optional<Factor> right;
  for (int i = flat.output_index_count; i < static_cast<int>(flat.indices.size()); ++i) {
    if (IsConstrained(flat, i)) continue;
    if (paired >= 0 && flat.indices[i].range <= flat.indices[paired].range) continue;
    std::optional<Factor> a = Factor::Make(flat, (*exprs)[0], i);
    std::optional<Factor> b = Factor::Make(flat, (*exprs)[1], i);
    if (!a || !b) continue;
    paired = i;
    left = std::move(a);
    right = std::move(b);
  }
  if (paired < 0) return std::nullopt;
  PairedProduct result;
  result.left = left->Pairs(absl::StrCat(flat.name, "_left"));
  result.right = right->Pairs(absl::StrCat(flat.name, "_right"));
  FlatContraction& products = result.products;
  products = flat;
  products.indices[paired].range = left->pair_count();
  std::vector<ExprPtr> reads;
  const auto add = [&](const FlatContraction& pairs, std::vector<Affine> coords) {
    reads.push_back(MakeExpr(DataType::kInt32, Read{static_cast<int>(products.accesses.size())}));
    products.accesses.push_back({static_cast<int>(products.tensors.size()), std::move(coords), {}});
    products.tensors.push_back({ir::kNoValue, pairs.outputs[0].shape});
  };
  add(result.left, left->PairCoords());
  add(result.right, right->PairCoords());
  products.body = MakeApply(ScalarOp::kDot16, DataType::kInt32, std::move(reads));
  DropUnread(&products);
  return result;
}

}  // namespace tartan::poly
