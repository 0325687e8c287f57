// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/moves/views.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using math::Affine;

// Coordinates of an access along dimensions with several elements, in order, and the indices of the
// other dimensions, which are always 0.
struct PlainCoords {
  std::vector<Affine> coords;
  std::vector<int64_t> sizes;
  std::set<int> indices;  // indices in `coords`
  std::set<int> zeros;
};

// Returns nothing if a coordinate is not an index plus an integer, or an index appears twice.
std::optional<PlainCoords> PlainCoordsOf(const ir::Access& access,
                                         const std::vector<int64_t>& dims) {
  PlainCoords walk;
  for (size_t d = 0; d < dims.size(); ++d) {
    const Affine& coord = access.indices[d];
    const int index = coord.single_variable();
    if (dims[d] == 1) {
      if (coord == Affine::Constant(0)) continue;
      if (index < 0 || !(coord == Affine::Variable(index))) return std::nullopt;
      walk.zeros.insert(index);
      continue;
    }
    if (index < 0 || !coord.constant.is_integer() || !walk.indices.insert(index).second ||
        !(coord == Affine::Variable(index) + Affine::Constant(coord.constant))) {
      return std::nullopt;
    }
    walk.coords.push_back(coord);
    walk.sizes.push_back(dims[d]);
  }
  return walk;
}

bool KeepsOrder(const ir::Program& program, const ir::Value& value) {
  const auto* move = std::get_if<ir::Contraction>(&value.op);
  if (move == nullptr || move->combination != Combination::kNone || move->inputs.size() != 1 ||
      !move->constraints.empty() ||
      (move->aggregation != Aggregation::kAssign && move->aggregation != Aggregation::kSum)) {
    return false;
  }
  const TensorShape& from = program.values[move->inputs.front().tensor].shape;
  if (from.type != value.shape.type || value.shape.element_count() == 0) return false;
  const std::optional<PlainCoords> read = PlainCoordsOf(move->inputs.front(), from.dims);
  const std::optional<PlainCoords> written = PlainCoordsOf(move->output, value.shape.dims);
  if (!read || !written || read->sizes != written->sizes || read->coords != written->coords) {
    return false;
  }
  for (const int index : read->indices) {
    if (read->zeros.count(index) + written->zeros.count(index) > 0) return false;
  }
  return true;
}

}  // namespace

ir::Program MakeViews(const ir::Program& program) {
  Rewriter rewriter(program);
  for (ir::Value value : program.values) {
    const bool is_view = KeepsOrder(program, value);
    ir::RenumberOperands(value.op, rewriter.numbers());
    if (is_view) {
      const ir::ValueId tensor = std::get<ir::Contraction>(value.op).inputs.front().tensor;
      value.op = ir::Special{ir::SpecialKind::kReshape, {tensor}, {}};
    }
    rewriter.Replace(std::move(value));
  }
  return std::move(rewriter).Finish();
}

}  // namespace tartan::graph
