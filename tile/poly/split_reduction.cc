// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/split_reduction.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::poly {
namespace {

using math::Affine;

// Replaces `index` by chunk * length + index; the chunk is a new output index, the last one.
FlatContraction PartialKernel(const FlatContraction& flat, int index, int64_t length,
                              const std::vector<int>& order) {
  const int run = flat.output_index_count;
  FlatContraction partial = MapPolys(flat, [&](const Affine& poly) {
    Affine mapped = Affine::Constant(poly.constant);
    for (int i = 0; i < static_cast<int>(flat.indices.size()); ++i) {
      const math::Rational coefficient = poly.coefficient(i);
      if (!coefficient.is_zero()) mapped.set_coefficient(i < run ? i : i + 1, coefficient);
    }
    const math::Rational coefficient = poly.coefficient(index);
    if (!coefficient.is_zero()) mapped.set_coefficient(run, coefficient * length);
    return mapped;
  });
  const Index whole = flat.indices[index];
  const int64_t runs = (whole.range + length - 1) / length;
  partial.name = absl::StrCat(flat.name, "_partial");
  partial.indices[index].range = length;
  partial.indices.insert(partial.indices.begin() + run, {absl::StrCat(whole.name, "_chunk"), runs});
  ++partial.output_index_count;
  if (whole.range % length != 0) {
    partial.constraints.push_back(
        {Affine::Variable(run, length) + Affine::Variable(index + 1), whole.range});
  }
  // The chunk is the outermost dimension, whatever the layout of the outputs.
  partial.output_coords = {Affine::Variable(run)};
  partial.output_dims = {runs};
  for (int d = 0; d < run; ++d) {
    const int i = order.empty() ? d : order[d];
    partial.output_coords.push_back(Affine::Variable(i));
    partial.output_dims.push_back(flat.indices[i].range);
  }
  partial.store_guard.clear();
  partial.may_be_empty = false;
  partial.empty_value = nullptr;
  Output output;
  output.shape = {flat.accumulator_type, partial.output_dims};
  output.expr = MakeExpr(flat.accumulator_type, Accumulator{});
  partial.outputs = {std::move(output)};
  return partial;
}

}  // namespace

bool CanSplitReduction(const FlatContraction& flat) {
  return flat.is_reduction() && flat.aggregation != Aggregation::kAssign && !flat.may_be_empty &&
         ComputeType(flat.accumulator_type) == flat.accumulator_type &&
         flat.accumulator_type != DataType::kBool && flat.accumulator_index < 0;
}

SplitKernel SplitReduction(const FlatContraction& flat, int index, int64_t length,
                           const std::vector<int>& order) {
  SplitKernel split;
  split.partial = PartialKernel(flat, index, length, order);
  FlatContraction& total = split.total;
  total = flat;
  const int run = flat.output_index_count;
  total.indices.resize(run);
  total.indices.push_back(split.partial.indices[run]);
  total.constraints.clear();
  Tensor partial;
  partial.shape = split.partial.outputs[0].shape;
  TensorAccess read;
  read.tensor = static_cast<int>(total.tensors.size());
  read.coords = split.partial.output_coords;
  total.body = MakeExpr(flat.accumulator_type, Read{static_cast<int>(total.accesses.size())});
  total.tensors.push_back(std::move(partial));
  total.accesses.push_back(std::move(read));
  // Removes the dependence of the remaining accesses on reduced indices.
  const auto drop_reduced = [&](const Affine& poly) {
    Affine mapped = Affine::Constant(poly.constant);
    for (int i = 0; i < run; ++i) {
      if (!poly.coefficient(i).is_zero()) mapped.set_coefficient(i, poly.coefficient(i));
    }
    return mapped;
  };
  for (size_t a = 0; a + 1 < total.accesses.size(); ++a) {
    for (Affine& coord : total.accesses[a].coords) coord = drop_reduced(coord);
    for (math::RangeConstraint& guard : total.accesses[a].guard) {
      guard.poly = drop_reduced(guard.poly);
    }
  }
  DropUnread(&total);
  return split;
}

}  // namespace tartan::poly
