#include "tile/plan/kernel_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/plan/vector_plan.h"

namespace tartan::plan {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The output index along which stored elements are neighbours; -1 where there is none.
int ContiguousIndex(const poly::FlatContraction& flat) {
  const poly::FlatAccess out =
      poly::Flatten(flat.output_coords, flat.output_dims, static_cast<int>(flat.indices.size()));
  for (int i = flat.output_index_count; i-- > 0;) {
    if (flat.indices[i].range > 1) return out.strides[i] == 1 ? i : -1;
  }
  return -1;
}

// A whole range where it is small, else a divisor that fills vectors, else a tile with a remainder.
int64_t RegisterTile(int64_t range, int64_t vector_width) {
  const int64_t most = std::max<int64_t>(4 * vector_width, 8);
  if (range <= most) return range;
  for (int64_t tile = most; tile >= vector_width; --tile) {
    if (range % tile == 0) return tile;
  }
  return most / 2;
}

// Operations to compute one output element.
int64_t OperationsPerElement(const poly::FlatContraction& flat) {
  int64_t operations = 1;
  for (const poly::Output& output : flat.outputs) operations += poly::OperationCount(output.expr);
  int64_t points = 1;
  for (size_t i = flat.output_index_count; i < flat.indices.size(); ++i) {
    points *= flat.indices[i].range;
  }
  if (flat.is_reduction()) operations += points * (1 + poly::OperationCount(flat.body));
  return operations;
}

KernelPlan CpuPlan(const poly::FlatContraction& flat, const HardwareSettings& settings) {
  // Large enough that starting a work-item does not matter, small enough to share out.
  constexpr int64_t kTaskOperations = 1 << 15;
  KernelPlan plan;
  plan.tile.assign(flat.output_index_count, 1);
  int64_t operations = OperationsPerElement(flat);
  if (flat.is_reduction()) {
    const int contiguous = ContiguousIndex(flat);
    ChooseVectors(flat, settings, contiguous, &plan);
    if (plan.lanes == 1 && contiguous >= 0) {
      plan.register_index = contiguous;
      plan.tile[contiguous] =
          RegisterTile(flat.indices[contiguous].range, settings.vector_width);
    }
  }
  for (int i : {plan.register_index, plan.block_index}) {
    if (i < 0) continue;
    const bool whole = plan.lanes > 1 && i == plan.register_index;
    operations *= whole ? flat.indices[i].range : plan.tile[i];
  }
  for (int i = flat.output_index_count; i-- > 0 && operations < kTaskOperations;) {
    if (i == plan.register_index || i == plan.block_index) continue;
    const int64_t wanted = CeilDiv(kTaskOperations, std::max<int64_t>(operations, 1));
    plan.tile[i] = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(flat.indices[i].range, 1));
    operations *= plan.tile[i];
  }
  return plan;
}

KernelPlan GpuPlan(const poly::FlatContraction& flat, const HardwareSettings& settings) {
  KernelPlan plan;
  plan.tile.assign(flat.output_index_count, 1);
  // Few distinct work-group sizes: each is compiled anew by some drivers.
  plan.threads = flat.output_point_count() >= settings.threads ? settings.threads : 32;
  plan.threads = std::min(plan.threads, settings.threads);
  return plan;
}

}  // namespace

int64_t KernelPlan::TileCount(const poly::FlatContraction& flat, int i) const {
  if (lanes > 1 && i == register_index) return 1;
  return CeilDiv(flat.indices[i].range, tile[i]);
}

int64_t KernelPlan::ItemCount(const poly::FlatContraction& flat) const {
  int64_t items = 1;
  for (int i = 0; i < flat.output_index_count; ++i) items *= TileCount(flat, i);
  return items;
}

std::string KernelPlan::ToString(const poly::FlatContraction& flat) const {
  std::vector<std::string> parts;
  for (int i = 0; i < flat.output_index_count; ++i) {
    parts.push_back(absl::StrCat(flat.indices[i].name, ": ", tile[i], "/", flat.indices[i].range));
  }
  std::string text = absl::StrCat("tile [", absl::StrJoin(parts, ", "), "]");
  if (register_index >= 0) {
    absl::StrAppend(&text, ", registers along ", flat.indices[register_index].name);
  }
  if (block_index >= 0) absl::StrAppend(&text, " and ", flat.indices[block_index].name);
  if (lanes > 1) absl::StrAppend(&text, ", vectors of ", lanes);
  if (vector_reduced) absl::StrAppend(&text, " along ", flat.indices.back().name);
  absl::StrAppend(&text, ", ", ItemCount(flat), " work-items in groups of ", threads);
  return text;
}

KernelPlan MakePlan(const poly::FlatContraction& flat, const HardwareSettings& settings) {
  return settings.threads > 1 ? GpuPlan(flat, settings) : CpuPlan(flat, settings);
}

}  // namespace tartan::plan
