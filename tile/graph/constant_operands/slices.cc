// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/constant_operands/slices.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

// The position along `axis` that a gather reads.
struct Place {
  int axis = 0;
  int64_t position = 0;
};

// Returns nothing if the value is no gather at a literal position.
std::optional<Place> PlaceOf(const ir::Program& program, const ir::Value& value) {
  const auto* gather = std::get_if<ir::Special>(&value.op);
  if (gather == nullptr || gather->kind != ir::SpecialKind::kGather) return {};
  const auto* literal = std::get_if<ir::Constant>(&program.values[gather->operands[1]].op);
  if (literal == nullptr) return {};
  const auto* position = std::get_if<int64_t>(&literal->value);
  const auto axis = static_cast<int>(gather->params[0]);
  const int64_t size = program.values[gather->operands[0]].shape.dims[axis];
  if (position == nullptr || size == 0) return {};
  const int64_t from_begin = *position < 0 ? *position + size : *position;
  return Place{axis, std::clamp<int64_t>(from_begin, 0, size - 1)};
}

ir::Contraction SliceAt(const Place& place, ir::ValueId tensor, size_t rank) {
  ir::Contraction slice = IdentityCopy(tensor, rank);
  std::vector<math::Affine>& read = slice.inputs.front().indices;
  read.insert(read.begin() + place.axis, math::Affine::Constant(place.position));
  return slice;
}

}  // namespace

ir::Program SliceConstantGathers(const ir::Program& program) {
  const bool has_slices =
      std::any_of(program.values.begin(), program.values.end(),
                  [&](const ir::Value& value) { return PlaceOf(program, value).has_value(); });
  if (!has_slices) return program;
  Rewriter rewriter(program);
  for (ir::Value value : program.values) {
    const std::optional<Place> place = PlaceOf(program, value);
    ir::RenumberOperands(value.op, rewriter.numbers());
    if (place) {
      const ir::ValueId tensor = std::get<ir::Special>(value.op).operands[0];
      value.op = SliceAt(*place, tensor, value.shape.dims.size());
    }
    rewriter.Replace(std::move(value));
  }
  return std::move(rewriter).Finish();
}

}  // namespace tartan::graph
