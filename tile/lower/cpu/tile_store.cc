// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/cpu/tile_store.h"

#include "absl/strings/str_cat.h"
#include "tile/loop/build.h"
#include "tile/plan/cpu/lane_stores.h"
#include "tile/plan/cpu/streamed_stores.h"
#include "tile/plan/machine.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

constexpr char kKept[] = "kept";

}  // namespace

TileStore::TileStore(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
                     const IndexEmitter& indices)
    : flat_(flat),
      plan_(plan),
      indices_(indices),
      output_poly_(poly::Flatten(flat.output_coords, flat.output_dims,
                                 static_cast<int>(flat.indices.size()))),
      between_(IndexBetween()),
      loops_over_lanes_(!indices.has_size_arguments() && plan::StoresLanesByLoop(flat, plan)) {}

void TileStore::BeginTile() {
  is_tile_ = true;
  waiting_.clear();
  scattered_.clear();
}

StmtPtr TileStore::Keep(DataType stored, const ExprPtr& index, const ExprPtr& vector, int lanes,
                        std::vector<StmtPtr>* before) {
  if (scattered_.empty()) {
    int64_t elements = 1;
    for (int i = 0; i < flat_.output_index_count; ++i) elements *= plan_.unroll[i];
    before->push_back(loop::MakeArray({stored, 1}, kKept, elements));
  }
  const auto kept = static_cast<int64_t>(scattered_.size()) * lanes;
  scattered_.push_back({index, kept});
  return loop::MakeStore(kKept, stored, indices_.Number(kept), loop::Splat(vector, lanes));
}

std::vector<StmtPtr> TileStore::EndTile() {
  is_tile_ = false;
  if (scattered_.empty()) return {};
  const DataType stored = flat_.outputs[0].shape.type;
  const ExprPtr lane = loop::Var("lane", indices_.IndexType());
  const ExprPtr distance =
      loop::Mul(lane, indices_.Number(output_poly_.strides[plan_.vector_index]));
  std::vector<StmtPtr> stores;
  for (const Scattered& vector : scattered_) {
    const ExprPtr element =
        loop::LoadFrom(kKept, stored, loop::Add(lane, indices_.Number(vector.kept)));
    stores.push_back(loop::MakeStore("out0", stored, loop::Add(vector.index, distance), element));
  }
  return {loop::MakeFor("lane", indices_.Number(0), indices_.Number(plan_.lanes),
                        loop::MakeBlock(std::move(stores)))};
}

int TileStore::IndexBetween() const {
  const int v = plan_.vector_index;
  if (plan_.lanes < 2 || v >= flat_.output_index_count || output_poly_.strides[v] != 2) return -1;
  if (indices_.has_size_arguments()) return -1;
  for (int i = 0; i < flat_.output_index_count; ++i) {
    if (i != v && output_poly_.strides[i] == 1 && plan_.unroll[i] == 2) return i;
  }
  return -1;
}

std::vector<StmtPtr> TileStore::Emit(size_t output, const Position& position, int lanes,
                                     const ExprPtr& value, std::vector<StmtPtr>* before) {
  const std::string name = absl::StrCat("out", output);
  const DataType stored = flat_.outputs[output].shape.type;
  math::Affine poly = math::Affine::Constant(output_poly_.offset);
  for (size_t i = 0; i < output_poly_.strides.size(); ++i) {
    if (output_poly_.strides[i] == 0) continue;
    poly.set_coefficient(static_cast<int>(i), output_poly_.strides[i]);
  }
  const ExprPtr index = indices_.Emit(poly, position);
  const auto at_lane = [&, begin = poly](int lane) {
    const int64_t distance = lane * output_poly_.strides[plan_.vector_index];
    if (!indices_.has_size_arguments()) return loop::Add(index, indices_.Number(distance));
    Position moved = position;
    moved[plan_.vector_index] += lane;
    return indices_.Emit(begin, moved);
  };
  poly = poly + math::Affine::Constant(ShiftAt(poly, position));
  if (lanes == 1) return {loop::MakeStore(name, stored, index, value)};
  const int64_t stride = output_poly_.strides[plan_.vector_index];
  const ExprPtr vector = Named(output, value, lanes, before);
  if (stride == 1 && stored != DataType::kBool) {
    const bool streamed = IsStreamed(output, poly);
    return {loop::MakeStore(name, stored, index, loop::Splat(vector, lanes),
                            /*is_aligned=*/streamed, streamed)};
  }
  if (is_tile_ && between_ >= 0 && stored != DataType::kBool) {
    Position first = position;
    first[between_] = 0;
    if (position[between_] == 0) {
      waiting_[{output, first}] = vector;
      return {};
    }
    const math::Affine begin = poly + math::Affine::Constant(-1);
    return Interleaved(output, begin, lanes, waiting_.at({output, first}), vector);
  }
  if (is_tile_ && loops_over_lanes_) {
    return {Keep(stored, index, vector, lanes, before)};
  }
  const bool is_mask = value->type.element == DataType::kBool && vector->type.lanes > 1;
  std::vector<StmtPtr> stores;
  for (int lane = 0; lane < lanes; ++lane) {
    ExprPtr element = vector->type.lanes > 1 ? loop::LaneOf(vector, lane) : vector;
    if (is_mask) element = loop::ApplyOp(ScalarOp::kNotEqual, {element, loop::Int(0)});
    stores.push_back(loop::MakeStore(name, stored, at_lane(lane), element));
  }
  return stores;
}

ExprPtr TileStore::Named(size_t output, const ExprPtr& value, int lanes,
                         std::vector<StmtPtr>* before) const {
  ExprPtr vector = value;
  if (value->type.element == DataType::kBool && value->type.lanes > 1) {
    vector = loop::Select(value, loop::Splat(loop::Int(1), lanes), loop::Int(0));
  }
  if (vector->type.lanes == 1 || std::holds_alternative<loop::Variable>(vector->node))
    return vector;
  const std::string variable = absl::StrCat("v", output, "_", before->size());
  const loop::Type type = vector->type;
  before->push_back(loop::MakeDeclare(type, variable, vector));
  return loop::Var(variable, type);
}

std::vector<StmtPtr> TileStore::Interleaved(size_t output, const math::Affine& poly, int lanes,
                                            const ExprPtr& even, const ExprPtr& odd) const {
  const bool streamed = IsStreamed(output, poly);
  std::vector<StmtPtr> stores;
  for (int half = 0; half < 2; ++half) {
    std::vector<int> interleaved;
    for (int i = half * lanes / 2; i < (half + 1) * lanes / 2; ++i) {
      interleaved.push_back(i);
      interleaved.push_back(lanes + i);
    }
    const ExprPtr index = indices_.Emit(poly + math::Affine::Constant(half * lanes));
    stores.push_back(
        loop::MakeStore(absl::StrCat("out", output), flat_.outputs[output].shape.type, index,
                        loop::MakeShuffle(loop::Splat(even, lanes), loop::Splat(odd, lanes),
                                          std::move(interleaved)),
                        streamed, streamed));
  }
  return stores;
}

bool TileStore::EndsWithLine(DataType stored) const {
  const int v = plan_.vector_index;
  const int64_t range = flat_.indices[v].range;
  if (range % plan_.unroll[v] == 0) return true;
  // The last tile overlaps the one before it and writes some lines again.
  const int64_t twice = plan_.unroll[v] - range % plan_.unroll[v];
  const int64_t last = (range - plan_.unroll[v]) * output_poly_.strides[v];
  return 4 * twice <= range && last * ByteWidth(stored) % plan::cpu::kLineBytes == 0;
}

bool TileStore::IsStreamed(size_t output, const math::Affine& poly) const {
  const TensorShape& shape = flat_.outputs[output].shape;
  const int v = plan_.vector_index;
  if (indices_.has_size_arguments() || flat_.is_reduction() ||
      shape.byte_size() < plan::kStreamedBytes || !EndsWithLine(shape.type)) {
    return false;
  }
  bool is_row = true;
  for (int i = 0; i < flat_.output_index_count; ++i) {
    is_row &= i == v || i == between_ || plan_.unroll[i] == 1;
  }
  const int64_t neighbours = plan_.unroll[v] * (between_ >= 0 ? 2 : 1);
  const bool has_whole_lines = neighbours * ByteWidth(shape.type) % plan::cpu::kLineBytes == 0;
  if (!has_whole_lines && !(is_row && plan_.order.back() == v)) return false;
  for (int i = 0; i < flat_.output_index_count; ++i) {
    if (i != v && i != between_ && poly.coefficient(i).numerator() % plan_.lanes != 0) return false;
  }
  return poly.constant.numerator() % plan_.lanes == 0;
}

}  // namespace tartan::lower
