// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/packed_factor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/poly/coords.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::poly {
namespace {

using math::Affine;
using math::Interval;
using math::RangeConstraint;
using math::Rational;

// Coefficients of `poly` = factor * base + constant.
// AsMultiple returns nothing if `poly` has no such form.
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

// Combines parts into a word, low bits first.
ExprPtr JoinIntegers(const std::vector<ExprPtr>& parts) {
  const auto count = static_cast<int64_t>(parts.size());
  const int64_t bits = 32 / count;
  ExprPtr word;
  for (int64_t part = 0; part < count; ++part) {
    ExprPtr value = parts[part];
    if (part + 1 < count) {
      value = Int32Apply(ScalarOp::kBitAnd, value,
                         MakeNumber((int64_t{1} << bits) - 1, DataType::kInt32));
    }
    if (part > 0)
      value = Int32Apply(ScalarOp::kShiftLeft, value, MakeNumber(part * bits, DataType::kInt32));
    word = part == 0 ? value : Int32Apply(ScalarOp::kBitOr, word, value);
  }
  return word;
}

// Divides dimensions that consist of blocks along the packed index, such as merged heads: the index
// becomes a coordinate of its own.
FlatContraction WithDividedBlocks(FlatContraction values, int packed) {
  const int64_t range = values.indices[packed].range;
  for (TensorAccess& access : values.accesses) {
    Tensor tensor = values.tensors[access.tensor];
    std::vector<int64_t>& dims = tensor.shape.dims;
    for (size_t d = 0; d < access.coords.size(); ++d) {
      const Affine block = (access.coords[d] - Affine::Variable(packed)) * Rational(1, range);
      const bool has_blocks = access.coords[d].coefficient(packed) == 1 && dims[d] % range == 0;
      if (!has_blocks || block.is_constant() || !block.is_integer()) continue;
      access.coords[d] = block;
      access.coords.insert(access.coords.begin() + d + 1, Affine::Variable(packed));
      dims[d] /= range;
      dims.insert(dims.begin() + d + 1, range);
      access.tensor = static_cast<int>(values.tensors.size());
      values.tensors.push_back(std::move(tensor));
      break;
    }
  }
  DropUnread(&values);
  return values;
}

}  // namespace

ExprPtr Int32Apply(ScalarOp op, ExprPtr a, ExprPtr b) {
  return MakeApply(op, DataType::kInt32, {std::move(a), std::move(b)});
}

FlatContraction ElementsOf(const FlatContraction& flat, const ExprPtr& expr) {
  FlatContraction elements;
  elements.indices = flat.indices;
  elements.output_index_count = static_cast<int>(flat.indices.size());
  elements.tensors = flat.tensors;
  elements.accesses = flat.accesses;
  elements.outputs = {{ir::kNoValue, {}, expr}};
  DropUnread(&elements);
  return elements;
}

std::optional<PackedFactor> PackedFactor::Make(const FlatContraction& flat, const ExprPtr& expr,
                                               int packed) {
  PackedFactor factor;
  factor.packed_ = packed;
  factor.values_ = WithDividedBlocks(ElementsOf(flat, expr), packed);
  if (!factor.FindMain() || !factor.FindBox() || !factor.DependsOnCoordsOnly()) {
    return std::nullopt;
  }
  return factor;
}

int64_t PackedFactor::WordCount(int64_t count) const {
  return (box_[packed_dim_].size() + count - 1) / count;
}

FlatContraction PackedFactor::Words(std::string name, int64_t count) const {
  FlatContraction words;
  words.name = std::move(name);
  words.tensors = values_.tensors;
  for (size_t d = 0; d < coords_.size(); ++d) {
    const bool is_packed = static_cast<int>(d) == packed_dim_;
    words.indices.push_back({absl::StrCat("x", d), is_packed ? WordCount(count) : box_[d].size()});
    words.output_coords.push_back(Affine::Variable(static_cast<int>(d)));
    words.output_dims.push_back(words.indices.back().range);
  }
  words.output_index_count = static_cast<int>(words.indices.size());
  std::vector<ExprPtr> parts;
  for (int64_t part = 0; part < count; ++part) {
    parts.push_back(Part(part * WordCount(count), &words));
  }
  const bool is_float = IsFloat(parts[0]->type);
  const ExprPtr word =
      is_float ? MakeApply(ScalarOp::kPairBFloat16, DataType::kInt32, parts) : JoinIntegers(parts);
  words.outputs = {{ir::kNoValue, {DataType::kInt32, words.output_dims}, word}};
  return words;
}

std::vector<Affine> PackedFactor::WordCoords() const {
  std::vector<Affine> coords;
  for (size_t d = 0; d < coords_.size(); ++d) {
    coords.push_back(coords_[d] - Affine::Constant(box_[d].min));
  }
  return coords;
}

// Finds the largest tensor with one coordinate that is the packed index alone.
bool PackedFactor::FindMain() {
  int64_t largest = -1;
  for (const TensorAccess& access : values_.accesses) {
    const int64_t elements = values_.tensors[access.tensor].shape.element_count();
    if (elements <= largest) continue;
    for (size_t d = 0; d < access.coords.size(); ++d) {
      const Affine& coord = access.coords[d];
      if (coord.single_variable() != packed_ || coord.coefficient(packed_) != 1) continue;
      if (!IsAlone(access.coords, d)) continue;
      largest = elements;
      coords_ = access.coords;
      is_guarded_ = !access.guard.empty();
      dims_ = values_.tensors[access.tensor].shape.dims;
      packed_dim_ = static_cast<int>(d);
    }
  }
  return largest > 0;
}

// Requires that only coordinate number `d` contains the packed index.
bool PackedFactor::IsAlone(absl::Span<const Affine> coords, size_t d) const {
  for (size_t e = 0; e < coords.size(); ++e) {
    if (e != d && !coords[e].coefficient(packed_).is_zero()) return false;
  }
  return true;
}

// Finds the elements that the kernel may read: the elements of the tensor, and, with a guard, the
// positions around it.
bool PackedFactor::FindBox() {
  for (size_t d = 0; d < coords_.size(); ++d) {
    if (!coords_[d].is_integer()) return false;
    const auto [least, greatest] = ValueRange(coords_[d], values_.indices);
    Interval reach{least, greatest};
    if (!is_guarded_) {
      reach = {std::max<int64_t>(reach.min, 0), std::min(reach.max, dims_[d] - 1)};
    }
    if (reach.empty()) return false;
    box_.push_back(reach);
  }
  return box_[packed_dim_].size() == values_.indices[packed_].range;
}

// Returns `poly` as a function of the coordinates; nothing if they do not determine it.
std::optional<Affine> PackedFactor::OverCoords(const Affine& poly) const {
  if (poly.is_constant()) return poly;
  for (size_t d = 0; d < coords_.size(); ++d) {
    if (const auto multiple = AsMultiple(poly, coords_[d])) {
      return Affine::Variable(static_cast<int>(d), multiple->factor) +
             Affine::Constant(multiple->constant);
    }
  }
  return std::nullopt;
}

bool PackedFactor::DependsOnCoordsOnly() const {
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

// Returns the factor's value `ahead` positions further along the packed coordinate, as float32 or
// int32; 0 beyond the end. Adds its reads to `words`.
ExprPtr PackedFactor::Part(int64_t ahead, FlatContraction* words) const {
  const int64_t range = box_[packed_dim_].size();
  const bool is_float = IsFloat(values_.outputs[0].expr->type);
  const DataType type = is_float ? DataType::kFloat32 : DataType::kInt32;
  if (ahead >= range) return MakeNumber(0, type);
  std::vector<Affine> place;
  for (size_t d = 0; d < coords_.size(); ++d) {
    const int64_t first = box_[d].min + (static_cast<int>(d) == packed_dim_ ? ahead : 0);
    place.push_back(Affine::Variable(static_cast<int>(d)) + Affine::Constant(first));
  }
  FlatContraction part =
      MapPolys(values_, [&](const Affine& poly) { return OverCoords(poly)->Substitute(place); });
  const RangeConstraint within{Affine::Variable(packed_dim_) + Affine::Constant(ahead), range};
  const bool ends_early = ahead + words->indices[packed_dim_].range > range;
  const int before = static_cast<int>(words->accesses.size());
  for (TensorAccess& access : part.accesses) {
    if (ends_early) access.guard.push_back(within);
    words->accesses.push_back(std::move(access));
  }
  ExprPtr value = MapLeaves(part.outputs[0].expr, [&](const ExprPtr& leaf) {
    const auto* read = std::get_if<Read>(&leaf->node);
    return read == nullptr ? leaf : MakeExpr(leaf->type, Read{before + read->access});
  });
  value = Convert(std::move(value), type);
  if (!ends_early) return value;
  return MakeApply(ScalarOp::kSelect, type,
                   {MakeExpr(DataType::kBool, InRange{{within}}), value, MakeNumber(0, type)});
}

}  // namespace tartan::poly
