// SPDX-License-Identifier: Apache-2.0
#include "tile/autodiff/strided_output.h"

#include <optional>
#include <utility>

namespace tartan::autodiff {
namespace {

// A coordinate of the result: `stride * variable + offset`, with the variable below `range`.
struct Coordinate {
  int variable = 0;
  int64_t stride = 1;
  int64_t offset = 0;
  int64_t range = 0;
};

// Finds the variables that alone are a coordinate of an operand: they are below its size there.
// Returns 0 for others.
std::vector<int64_t> Ranges(const Emitter& emit, const ir::Contraction& op) {
  std::vector<int64_t> ranges(op.index_names.size(), 0);
  for (const ir::Access& input : op.inputs) {
    const std::vector<int64_t> dims = emit.shape(input.tensor).dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int variable = input.indices[d].single_variable();
      if (variable >= 0 && input.indices[d] == math::Affine::Variable(variable)) {
        ranges[variable] = dims[d];
      }
    }
  }
  return ranges;
}

// Returns the coordinate without variables of range 1, if it has one other variable, and if all its
// values are within the dimension.
std::optional<Coordinate> AsCoordinate(math::Affine poly, const std::vector<int64_t>& ranges,
                                       int64_t dim) {
  for (size_t v = 0; v < ranges.size(); ++v) {
    if (ranges[v] == 1) poly.set_coefficient(static_cast<int>(v), 0);
  }
  Coordinate result;
  result.variable = poly.single_variable();
  if (result.variable < 0 || !poly.is_integer()) return std::nullopt;
  result.stride = poly.coefficient(result.variable).numerator();
  result.offset = poly.constant.numerator();
  result.range = ranges[result.variable];
  const int64_t last = result.stride * (result.range - 1) + result.offset;
  if (result.range < 1 || result.stride < 1 || result.offset < 0 || last >= dim) {
    return std::nullopt;
  }
  return result;
}

std::optional<std::vector<Coordinate>> Coordinates(const Emitter& emit, const ir::Contraction& op,
                                                   const std::vector<int64_t>& dims) {
  const std::vector<int64_t> ranges = Ranges(emit, op);
  std::vector<bool> is_used(ranges.size(), false);
  std::vector<Coordinate> coordinates;
  bool has_gaps = false;
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto found = AsCoordinate(op.output.indices[d], ranges, dims[d]);
    if (!found.has_value() || is_used[found->variable]) return std::nullopt;
    is_used[found->variable] = true;
    has_gaps |= found->stride > 1;
    coordinates.push_back(*found);
  }
  if (!has_gaps) return std::nullopt;
  return coordinates;
}

}  // namespace

ValueId ContractWithGaps(Emitter& emit, ir::Contraction contraction, std::vector<int64_t> dims) {
  const bool is_sum = contraction.aggregation == Aggregation::kSum &&
                      contraction.combination == Combination::kMultiply &&
                      contraction.default_value == ir::kNoValue && contraction.constraints.empty();
  const auto coordinates =
      is_sum && emit.status().ok() ? Coordinates(emit, contraction, dims) : std::nullopt;
  if (!coordinates.has_value()) return emit.Contract(std::move(contraction), std::move(dims));
  ir::Contraction move;
  move.aggregation = Aggregation::kAssign;
  ir::Access dense;
  std::vector<int64_t> dense_dims;
  contraction.output.indices.clear();
  for (size_t d = 0; d < dims.size(); ++d) {
    const Coordinate& coordinate = (*coordinates)[d];
    const auto at = static_cast<int>(d);
    contraction.output.indices.push_back(math::Affine::Variable(coordinate.variable));
    dense_dims.push_back(coordinate.range);
    move.index_names.push_back(contraction.index_names[coordinate.variable]);
    dense.indices.push_back(math::Affine::Variable(at));
    move.output.indices.push_back(math::Affine::Variable(at, coordinate.stride) +
                                  math::Affine::Constant(coordinate.offset));
  }
  dense.tensor = emit.Contract(std::move(contraction), std::move(dense_dims));
  move.inputs = {std::move(dense)};
  return emit.Contract(std::move(move), std::move(dims));
}

}  // namespace tartan::autodiff
