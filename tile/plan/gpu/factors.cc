// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/factors.h"

namespace tartan::plan {
namespace {

bool IsFactor(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBFloat16;
}

}  // namespace

std::optional<std::pair<int, int>> FactorsOf(const poly::FlatContraction& flat) {
  if (!flat.is_reduction() || flat.aggregation != Aggregation::kSum || flat.needs_hits() ||
      flat.accumulator_type != DataType::kFloat32) {
    return std::nullopt;
  }
  const auto* product = std::get_if<poly::Apply>(&flat.body->node);
  if (product == nullptr || product->op != ScalarOp::kMul) return std::nullopt;
  int accesses[2];
  for (int f = 0; f < 2; ++f) {
    const auto* read = std::get_if<poly::Read>(&product->operands[f]->node);
    if (read == nullptr) return std::nullopt;
    const poly::TensorAccess& access = flat.accesses[read->access];
    if (!access.guard.empty() || !IsFactor(flat.tensors[access.tensor].shape.type)) {
      return std::nullopt;
    }
    accesses[f] = read->access;
  }
  if (accesses[0] == accesses[1]) return std::nullopt;
  return std::make_pair(accesses[0], accesses[1]);
}

std::optional<MatrixFormat> FormatFor(const poly::FlatContraction& flat, Precision precision) {
  const std::optional<MatrixFormat> allowed = FormatOf(precision);
  const auto factors = FactorsOf(flat);
  if (allowed.has_value() || !factors.has_value()) return allowed;
  const auto type_of = [&](int access) {
    return flat.tensors[flat.accesses[access].tensor].shape.type;
  };
  for (const MatrixFormat format : {MatrixFormat::kBFloat16, MatrixFormat::kFloat16}) {
    const DataType type = ElementType(format);
    if (type_of(factors->first) == type && type_of(factors->second) == type) return format;
  }
  return std::nullopt;
}

}  // namespace tartan::plan
