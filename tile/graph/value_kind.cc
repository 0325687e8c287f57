// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/value_kind.h"

#include "tile/base/match.h"
#include "tile/poly/build_kernel.h"

namespace tartan::graph {

bool IsGather(ir::SpecialKind kind) {
  return kind == ir::SpecialKind::kGather || kind == ir::SpecialKind::kGatherElements ||
         kind == ir::SpecialKind::kGatherNd;
}

Kind KindOf(const ir::Value& value, const std::optional<poly::IndexSpace>& space) {
  return Match(
      value.op, [](const ir::Input&) { return Kind::kInput; },
      [](const ir::Constant&) { return Kind::kConstant; },
      [](const ir::Elementwise&) { return Kind::kPointwise; },
      [&](const ir::Contraction&) {
        return poly::MovesElements(*space) ? Kind::kPointwise : Kind::kRoot;
      },
      [](const ir::Special& special) {
        if (special.kind == ir::SpecialKind::kReshape) return Kind::kReshape;
        if (special.kind == ir::SpecialKind::kIndex || IsGather(special.kind)) {
          return Kind::kPointwise;
        }
        return Kind::kRoot;
      });
}

int64_t PointsOf(const std::optional<poly::IndexSpace>& space) {
  if (!space.has_value()) return 0;
  int64_t points = 1;
  for (const poly::Index& index : space->indices) points *= index.range;
  return points;
}

int OperationsOf(const ir::Value& value, const std::optional<poly::IndexSpace>& space) {
  return Match(
      value.op,
      [&](const ir::Elementwise& elementwise) {
        const DataType type = value.shape.type;
        if (elementwise.op == ScalarOp::kCast) return ComputeType(type) == type ? 0 : 1;
        return elementwise.op == ScalarOp::kIdentity ? 0 : 1;
      },
      [&](const ir::Contraction& contraction) {
        return space->constraints.empty() && contraction.combination == Combination::kNone ? 0 : 1;
      },
      [](const ir::Special& special) { return IsGather(special.kind) ? 2 : 0; },
      [](const auto&) { return 0; });
}

bool RepeatsElements(const ir::Program& program, const ir::Value& value,
                     const std::optional<poly::IndexSpace>& space) {
  const auto* move = std::get_if<ir::Contraction>(&value.op);
  if (move == nullptr || OperationsOf(value, space) > 0) return false;
  const TensorShape& from = program.values[move->inputs.front().tensor].shape;
  return from.element_count() < value.shape.element_count();
}

ir::ValueId NarrowForm(const ir::Program& program, const ir::Value& value) {
  const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
  if (elementwise == nullptr || elementwise->op != ScalarOp::kCast) return ir::kNoValue;
  const ir::Value& operand = program.values[elementwise->operands[0]];
  const DataType type = operand.shape.type;
  const bool widens = ComputeType(type) != type && value.shape.type == ComputeType(type);
  return widens && std::holds_alternative<ir::Elementwise>(operand.op) ? elementwise->operands[0]
                                                                       : ir::kNoValue;
}

bool RoundsFloat32(const ir::Program& program, const ir::Value& value, DataType type) {
  const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
  return elementwise != nullptr && elementwise->op == ScalarOp::kCast && value.shape.type == type &&
         program.values[elementwise->operands[0]].shape.type == DataType::kFloat32;
}

}  // namespace tartan::graph
