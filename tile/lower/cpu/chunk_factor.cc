// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/cpu/chunk_factor.h"

#include <algorithm>
#include <vector>

#include "tile/poly/rewrite_kernel.h"

namespace tartan::lower {
namespace {

using BodyPtr = poly::ExprPtr;

void CollectFactors(const BodyPtr& expr, std::vector<BodyPtr>* factors) {
  const auto* apply = std::get_if<poly::Apply>(&expr->node);
  if (apply == nullptr || apply->op != ScalarOp::kMul || expr->type != DataType::kFloat32) {
    factors->push_back(expr);
    return;
  }
  for (const BodyPtr& operand : apply->operands) CollectFactors(operand, factors);
}

// Returns whether the expression depends on no reduced index except `chunk_index`.
bool IsSteady(const poly::FlatContraction& flat, int chunk_index, const BodyPtr& expr) {
  if (expr->type != DataType::kFloat32) return false;
  if (std::holds_alternative<poly::Literal>(expr->node)) return true;
  if (const auto* apply = std::get_if<poly::Apply>(&expr->node)) {
    return std::all_of(apply->operands.begin(), apply->operands.end(), [&](const BodyPtr& operand) {
      return IsSteady(flat, chunk_index, operand);
    });
  }
  const auto* read = std::get_if<poly::Read>(&expr->node);
  if (read == nullptr) return false;
  const poly::TensorAccess& access = flat.accesses[read->access];
  const auto count = static_cast<int>(flat.indices.size());
  const std::vector<int64_t> strides =
      poly::Flatten(access.coords, flat.tensors[access.tensor].shape.dims, count).strides;
  for (int i = flat.output_index_count; i < count; ++i) {
    if (i != chunk_index && strides[i] != 0) return false;
  }
  return access.guard.empty();
}

// Returns whether reads of the steady expression depend on the index.
bool Follows(const poly::FlatContraction& flat, int index, const BodyPtr& expr) {
  if (const auto* apply = std::get_if<poly::Apply>(&expr->node)) {
    return std::any_of(apply->operands.begin(), apply->operands.end(),
                       [&](const BodyPtr& operand) { return Follows(flat, index, operand); });
  }
  const auto* read = std::get_if<poly::Read>(&expr->node);
  if (read == nullptr) return false;
  const std::vector<math::Affine>& coords = flat.accesses[read->access].coords;
  return std::any_of(coords.begin(), coords.end(), [&](const math::Affine& coord) {
    return !coord.coefficient(index).is_zero();
  });
}

BodyPtr Product(const std::vector<BodyPtr>& factors) {
  BodyPtr product;
  for (const BodyPtr& factor : factors) {
    product = product == nullptr
                  ? factor
                  : poly::MakeApply(ScalarOp::kMul, DataType::kFloat32, {product, factor});
  }
  return product;
}

}  // namespace

std::optional<ChunkFactor> SplitChunkFactor(const poly::FlatContraction& flat,
                                            const plan::CpuPlan& plan) {
  if (plan.reduction_order.size() < 2 || !flat.constraints.empty()) return std::nullopt;
  const int chunk_index = plan.reduction_order.front();
  const bool is_other =
      plan.block && (plan.block->chunk_index != chunk_index || plan.block->chunk_length != 1);
  const bool is_looped = plan.unroll[chunk_index] == 1 && chunk_index != plan.vector_index &&
                         plan.vector_index < flat.output_index_count;
  const bool has_small_numbers =
      std::any_of(flat.tensors.begin(), flat.tensors.end(), [](const poly::Tensor& tensor) {
        return ByteWidth(tensor.shape.type) < 4 || tensor.shape.type == DataType::kInt32;
      });
  if (is_other || !is_looped || !has_small_numbers) return std::nullopt;
  std::vector<BodyPtr> factors;
  CollectFactors(flat.body, &factors);
  std::vector<BodyPtr> steady;
  std::vector<BodyPtr> rest;
  for (const BodyPtr& factor : factors) {
    (IsSteady(flat, chunk_index, factor) ? steady : rest).push_back(factor);
  }
  if (steady.empty() || rest.empty()) return std::nullopt;
  const bool varies_by_chunk =
      std::any_of(steady.begin(), steady.end(),
                  [&](const BodyPtr& factor) { return Follows(flat, chunk_index, factor); });
  return ChunkFactor{Product(rest), Product(steady), varies_by_chunk};
}

}  // namespace tartan::lower
