// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu_plan.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace tartan::plan {
namespace {

// Maximum accumulator updates in unrolled code; empirical.
constexpr int64_t kUnrolledUpdates = 512;

int64_t TileCount(const poly::FlatContraction& flat, const GpuPlan& plan, size_t i) {
  const int64_t tile = plan.splits[i].tile();
  return (flat.indices[i].range + tile - 1) / tile;
}

}  // namespace

std::string GroupCost::ToString() const {
  return absl::StrFormat(
      "%.3g flops, %g groups x %g steps, %.3g bytes per group, %.3g from memory, local %g bytes, "
      "%.2f local reads per multiply-add, %g registers, occupancy %.2f, waste %.2f: %.1f us",
      flops, groups, steps, group_bytes, dram_bytes, local_bytes, local_reads, registers, occupancy,
      waste, microseconds);
}

int64_t GpuPlan::threads() const {
  int64_t count = 1;
  for (const ThreadPart& part : thread_parts) count *= part.count;
  return count;
}

int64_t GpuPlan::partial_threads(const poly::FlatContraction& flat) const {
  int64_t count = 1;
  for (const ThreadPart& part : thread_parts) {
    if (part.index >= flat.output_index_count) count *= part.count;
  }
  return count;
}

int64_t GpuPlan::GroupCount(const poly::FlatContraction& flat) const {
  int64_t count = 1;
  for (int i = 0; i < flat.output_index_count; ++i) count *= TileCount(flat, *this, i);
  return count;
}

int64_t GpuPlan::StepCount(const poly::FlatContraction& flat) const {
  int64_t count = 1;
  for (size_t i = flat.output_index_count; i < splits.size(); ++i) {
    count *= TileCount(flat, *this, i);
  }
  return count;
}

std::vector<int64_t> GpuPlan::Tile() const {
  std::vector<int64_t> tile;
  for (const IndexSplit& split : splits) tile.push_back(split.tile());
  return tile;
}

int64_t GpuPlan::OwnCount(int index) const {
  return index == lane_index ? splits[index].blocks : splits[index].held();
}

Unrolling GpuPlan::Unroll(const poly::FlatContraction& flat) const {
  Unrolling unrolling;
  int64_t updates = 1;
  for (size_t i = 0; i < splits.size(); ++i) {
    const bool is_output = static_cast<int>(i) < flat.output_index_count;
    if (is_output) updates *= splits[i].blocks;
    if (static_cast<int>(i) != lane_index) updates *= splits[i].vector;
    if (!is_output && splits[i].blocks > 1) unrolling.loops.push_back(static_cast<int>(i));
  }
  unrolling.from = static_cast<int>(unrolling.loops.size());
  for (; unrolling.from > 0; --unrolling.from) {
    const int64_t blocks = splits[unrolling.loops[unrolling.from - 1]].blocks;
    if (updates * blocks > kUnrolledUpdates) break;
    updates *= blocks;
  }
  for (int l = 0; l < unrolling.from; ++l) unrolling.rounds *= splits[unrolling.loops[l]].blocks;
  if (unrolling.from == 0) return unrolling;
  const int64_t blocks = splits[unrolling.loops[unrolling.from - 1]].blocks;
  for (int64_t iterations = 2; iterations < blocks; ++iterations) {
    if (blocks % iterations == 0 && updates * iterations <= kUnrolledUpdates)
      unrolling.iterations = iterations;
  }
  unrolling.rounds /= unrolling.iterations;
  return unrolling;
}

std::string GpuPlan::ToString(const poly::FlatContraction& flat) const {
  std::vector<std::string> tiles;
  for (size_t i = 0; i < splits.size(); ++i) {
    const IndexSplit& split = splits[i];
    tiles.push_back(absl::StrCat(flat.indices[i].name, ": ", split.tile(), "/",
                                 flat.indices[i].range, " = ", split.blocks, "x", split.threads,
                                 "x", split.vector));
  }
  std::vector<std::string> parts;
  for (const ThreadPart& part : thread_parts) {
    parts.push_back(absl::StrCat(part.count, " ", flat.indices[part.index].name));
  }
  std::vector<std::string> tensors;
  for (const StagedAccess& access : staged) tensors.push_back(absl::StrCat("in", access.access));
  std::string text = absl::StrCat("tile [", absl::StrJoin(tiles, ", "), "], work-items ",
                                  absl::StrJoin(parts, " x "));
  if (!tensors.empty()) {
    absl::StrAppend(&text, ", in local memory ", absl::StrJoin(tensors, " "),
                    buffering == Buffering::kNone        ? ""
                    : buffering == Buffering::kRegisters ? " prefetched"
                                                         : " copied asynchronously");
  }
  return text;
}

std::vector<math::RangeConstraint> TileConstraints(const poly::FlatContraction& flat,
                                                   const std::vector<int64_t>& tile) {
  std::vector<math::RangeConstraint> constraints = flat.constraints;
  for (size_t i = flat.output_index_count; i < flat.indices.size(); ++i) {
    const int64_t range = flat.indices[i].range;
    if (range % tile[i] == 0) continue;
    constraints.push_back({math::Affine::Variable(static_cast<int>(i)), range});
  }
  return constraints;
}

}  // namespace tartan::plan
