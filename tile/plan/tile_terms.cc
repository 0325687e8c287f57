// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/tile_terms.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace tartan::plan {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t PowerOfTwoAtLeast(int64_t value) {
  int64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

int64_t LineElements(const TileDevice& device, DataType type) {
  return std::max<int64_t>(device.line_bytes / ByteWidth(type), 1);
}

}  // namespace

std::string TileTerms::ToString() const {
  return absl::StrCat(
      "to=", total_operations, " wg=", work_groups, " il=", inner_loops, " sm=", local_bytes,
      " or=", accumulator_bytes, " mr=", read_bytes, " mw=", write_bytes, " op=", operations,
      " rp=", rollups, " tu=", threads_used,
      over_memory      ? " over memory"
      : over_registers ? " over regs"
                       : absl::StrCat(" flops_per_byte=", flops_per_byte, " occupancy=", occupancy,
                                      " roof_ratio=", roof_ratio, " occ_ratio=", occupancy_ratio,
                                      " thread_ratio=", thread_ratio, " score=", score()));
}

TileLayout ReadPlan(const poly::FlatContraction& flat, int access, const std::vector<int64_t>& tile,
                    const TileDevice& device) {
  const poly::TensorAccess& read = flat.accesses[access];
  const TensorShape& shape = flat.tensors[read.tensor].shape;
  const poly::FlatAccess flattened =
      poly::Flatten(read.coords, shape.dims, static_cast<int>(flat.indices.size()));
  TileLayout layout = OddLayout(MergeTileDims(flattened, tile, {}));
  SpreadThreads(device.threads, LineElements(device, shape.type), &layout);
  return layout;
}

std::vector<int64_t> OutputThreads(const poly::FlatContraction& flat,
                                   const std::vector<int64_t>& tile, const TileDevice& device) {
  const poly::FlatAccess output =
      poly::Flatten(flat.output_coords, flat.output_dims, static_cast<int>(flat.indices.size()));
  std::vector<int64_t> threads(flat.output_index_count, 1);
  if (threads.empty()) return threads;
  std::vector<int> order(threads.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::abs(output.strides[a]) < std::abs(output.strides[b]);
  });
  const int64_t line = LineElements(device, flat.outputs[0].shape.type);
  threads[order[0]] = PowerOfTwoAtLeast(std::min({line, device.threads, tile[order[0]]}));
  for (int64_t left = device.threads / threads[order[0]]; left > 1; left /= 2) {
    int best = -1;
    auto divides = [&](int i) { return tile[i] % (2 * threads[i]) == 0; };
    for (int i : order) {
      if (threads[i] >= tile[i]) continue;
      const bool better =
          best < 0 || (divides(i) != divides(best) ? divides(i) : threads[i] < threads[best]);
      if (better) best = i;
    }
    if (best < 0) break;
    threads[best] *= 2;
  }
  return threads;
}

TileTerms ComputeTileTerms(const poly::FlatContraction& flat, const std::vector<int64_t>& tile,
                           const TileDevice& device) {
  TileTerms terms;
  int64_t per_point = 0;
  for (const poly::Output& output : flat.outputs) per_point += OperationCount(output.expr);
  if (flat.is_reduction()) per_point += 1 + OperationCount(flat.body);
  terms.total_operations = flat.point_count() * per_point;
  const std::vector<int64_t> threads = OutputThreads(flat, tile, device);
  const poly::FlatAccess output =
      poly::Flatten(flat.output_coords, flat.output_dims, static_cast<int>(flat.indices.size()));
  const int64_t line = LineElements(device, flat.outputs[0].shape.type);
  int64_t points = 1, outputs = 1, lines = 1, held = 1, used = 1;
  for (size_t i = 0; i < flat.indices.size(); ++i) {
    const int64_t tiles = CeilDivide(flat.indices[i].range, tile[i]);
    points *= tile[i];
    if (static_cast<int>(i) >= flat.output_index_count) {
      terms.inner_loops *= tiles;
      continue;
    }
    terms.work_groups *= tiles;
    outputs *= tile[i];
    lines *= output.strides[i] == 1 ? CeilDivide(tile[i], line) : tile[i];
    held *= CeilDivide(tile[i], threads[i]);
    used *= threads[i];
  }
  terms.operations = std::min(device.threads, points);
  for (int64_t joined = outputs; joined < terms.operations; joined *= 2) ++terms.rollups;
  terms.threads_used = std::max(terms.operations, used);
  const DataType type = flat.is_reduction() ? flat.accumulator_type : flat.outputs[0].shape.type;
  terms.accumulator_bytes = held * used * ByteWidth(type);
  terms.write_bytes = lines * device.line_bytes * static_cast<int64_t>(flat.outputs.size());
  for (size_t a = 0; a < flat.accesses.size(); ++a) {
    const TensorShape& shape = flat.tensors[flat.accesses[a].tensor].shape;
    const TileLayout layout = ReadPlan(flat, static_cast<int>(a), tile, device);
    terms.local_bytes += layout.size * ByteWidth(shape.type);
    const double loads = LoadCount(layout, LineElements(device, shape.type));
    terms.read_bytes += static_cast<int64_t>(std::ceil(loads)) * device.line_bytes;
  }
  if (terms.rollups > 0) terms.local_bytes += device.threads * ByteWidth(type);
  const double bytes =
      static_cast<double>(terms.work_groups) *
      static_cast<double>(terms.inner_loops * terms.read_bytes + terms.write_bytes);
  terms.flops_per_byte = static_cast<double>(terms.total_operations) / bytes;
  terms.occupancy = static_cast<double>(std::min(terms.work_groups, device.goal_groups));
  terms.roof_ratio = std::min(terms.flops_per_byte / device.goal_flops_per_byte, 1.0);
  terms.occupancy_ratio = terms.occupancy / static_cast<double>(device.goal_groups);
  terms.thread_ratio =
      static_cast<double>(terms.threads_used) / static_cast<double>(device.threads);
  terms.over_memory = terms.local_bytes > device.local_bytes;
  terms.over_registers = terms.accumulator_bytes > device.register_bytes;
  return terms;
}

}  // namespace tartan::plan
