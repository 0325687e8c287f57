// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/matrix/matrix_packing.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/mma_tile.h"

namespace tartan::plan {
namespace {

// Rounds to the 11 leading bits of the significand, to nearest, by Veltkamp's splitting. If the
// multiplication would overflow, and for infinities, the hardware truncates instead.
poly::ExprPtr RoundedToTf32(const poly::ExprPtr& x) {
  constexpr DataType kType = DataType::kFloat32;
  constexpr double kSplit = 8193;     // 2^13 + 1
  constexpr double kLarge = 0x1p114;  // maximum magnitude that times kSplit does not overflow
  const auto number = [](double value) { return poly::MakeExpr(kType, poly::Literal{value}); };
  const poly::ExprPtr scaled = poly::MakeApply(ScalarOp::kMul, kType, {x, number(kSplit)});
  const poly::ExprPtr rest = poly::MakeApply(ScalarOp::kSub, kType, {scaled, x});
  const poly::ExprPtr is_small =
      poly::MakeApply(ScalarOp::kLess, DataType::kBool,
                      {poly::MakeApply(ScalarOp::kAbs, kType, {x}), number(kLarge)});
  // NaN + NaN sets the quiet bit, which truncation keeps.
  const poly::ExprPtr is_number = poly::MakeApply(ScalarOp::kEqual, DataType::kBool, {x, x});
  const poly::ExprPtr other = poly::MakeApply(
      ScalarOp::kSelect, kType, {is_number, x, poly::MakeApply(ScalarOp::kAdd, kType, {x, x})});
  return poly::MakeApply(ScalarOp::kSelect, kType,
                         {is_small, poly::MakeApply(ScalarOp::kSub, kType, {scaled, rest}), other});
}

}  // namespace

poly::FlatContraction FactorCopy(const poly::FlatContraction& flat, int access,
                                 const std::vector<int>& indices, MatrixFormat format) {
  const poly::TensorAccess& read = flat.accesses[access];
  poly::FlatContraction copy;
  copy.name = absl::StrCat(flat.name, "_packed", access);
  copy.comments = {
      absl::StrCat(copy.name, ": in", access, " of ", flat.name, " in ", tartan::Name(format))};
  copy.output_index_count = static_cast<int>(indices.size());
  copy.tensors = {{ir::kNoValue, flat.tensors[read.tensor].shape}};
  poly::TensorAccess source;
  for (size_t p = 0; p < indices.size(); ++p) {
    copy.indices.push_back(flat.indices[indices[p]]);
    copy.output_coords.push_back(math::Affine::Variable(static_cast<int>(p)));
    copy.output_dims.push_back(flat.indices[indices[p]].range);
  }
  for (const math::Affine& coord : read.coords) {
    math::Affine mapped = math::Affine::Constant(coord.constant);
    for (size_t p = 0; p < indices.size(); ++p) {
      mapped.set_coefficient(static_cast<int>(p), coord.coefficient(indices[p]));
    }
    source.coords.push_back(mapped);
  }
  copy.accesses = {source};
  const TensorShape shape{ElementType(format), copy.output_dims};
  const poly::ExprPtr element = poly::MakeExpr(DataType::kFloat32, poly::Read{0});
  const bool is_wide = format == MatrixFormat::kTf32;
  copy.outputs = {{ir::kNoValue, shape, is_wide ? RoundedToTf32(element) : element}};
  return copy;
}

}  // namespace tartan::plan
