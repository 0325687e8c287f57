// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/moves/moves_elements.h"

#include <set>
#include <variant>

namespace tartan::graph {
namespace {

// Returns whether each element of the result comes from at most one index point.
bool HasOnePointPerElement(const ir::Contraction& contraction) {
  if (contraction.aggregation == Aggregation::kAssign) return true;
  std::set<int> indices;
  for (const math::Affine& index : contraction.output.indices) {
    for (int i = 0; i < static_cast<int>(contraction.index_names.size()); ++i) {
      if (index == math::Affine::Variable(i)) indices.insert(i);
    }
  }
  return contraction.aggregation == Aggregation::kSum &&
         indices.size() == contraction.index_names.size();
}

}  // namespace

bool MovesElements(const ir::Contraction& contraction) {
  return contraction.combination == Combination::kNone && contraction.inputs.size() == 1 &&
         HasOnePointPerElement(contraction);
}

bool MovesElements(const ir::Value& value) {
  if (const auto* special = std::get_if<ir::Special>(&value.op)) {
    return special->kind == ir::SpecialKind::kReshape;
  }
  const auto* contraction = std::get_if<ir::Contraction>(&value.op);
  return contraction != nullptr && MovesElements(*contraction);
}

bool IsCast(const ir::Value& value) {
  const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
  return elementwise != nullptr && elementwise->op == ScalarOp::kCast;
}

}  // namespace tartan::graph
