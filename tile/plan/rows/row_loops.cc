// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/rows/row_loops.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

constexpr size_t kMaxStages = 4;    // maximum stages per loop; more exceed the registers
constexpr int64_t kMaxVectors = 4;  // maximum vectors per step; more exceed the registers

int64_t Length(const RowStage& stage) {
  return stage.block.flat.indices[stage.plan.vector_index].range;
}

// Accesses of a kernel by the place of their reads: the aggregated body, or the expressions after
// it.
struct Reads {
  std::set<int> body, epilogue;  // accesses; an elementwise kernel's outputs count as its body
  std::set<int> computed;        // tensors read at computed coordinates
};

void Collect(const poly::FlatContraction& flat, std::set<int>* accesses, std::set<int>* computed) {
  poly::VisitExprs(flat, [&](const poly::Expr& expr) {
    if (const auto* read = std::get_if<poly::Read>(&expr.node)) accesses->insert(read->access);
    if (const auto* at = std::get_if<poly::ReadAt>(&expr.node)) computed->insert(at->tensor);
  });
}

Reads ReadsOf(const poly::FlatContraction& flat) {
  Reads reads;
  if (!flat.is_reduction()) {
    Collect(flat, &reads.body, &reads.computed);
    return reads;
  }
  poly::FlatContraction part = flat;
  part.body = nullptr;
  Collect(part, &reads.epilogue, &reads.computed);
  part = flat;
  part.outputs.clear();
  part.empty_value = nullptr;
  Collect(part, &reads.body, &reads.computed);
  return reads;
}

poly::FlatAccess FlattenRead(const poly::FlatContraction& flat, int access) {
  const poly::TensorAccess& read = flat.accesses[access];
  return poly::Flatten(read.coords, flat.tensors[read.tensor].shape.dims,
                       static_cast<int>(flat.indices.size()));
}

// Returns whether the access reads, at every position of the row, the element that the other stage
// writes there.
bool IsSamePlace(const RowStage& reader, int access, const RowStage& writer) {
  const poly::FlatContraction& from = writer.block.flat;
  const poly::FlatAccess read = FlattenRead(reader.block.flat, access);
  const poly::FlatAccess written =
      poly::Flatten(from.output_coords, from.output_dims, static_cast<int>(from.indices.size()));
  bool is_same = read.offset == written.offset && read.strides[reader.plan.vector_index] ==
                                                      written.strides[writer.plan.vector_index];
  for (size_t a = 0; a < reader.block.origins.size(); ++a) {
    const int at = reader.block.origins[a];
    const int written_at = writer.block.origins[a];
    const int64_t stride = at < 0 ? 0 : read.strides[at];
    is_same &= stride == (written_at < 0 ? 0 : written.strides[written_at]);
  }
  return is_same;
}

// The first loop that `reader` may join, with respect to a writer in loop `written`.
int FirstLoop(const RowStage& reader, const RowStage& writer, int written, bool can_share) {
  const poly::FlatContraction& flat = reader.block.flat;
  const Reads reads = ReadsOf(flat);
  const auto is_written = [&](int tensor) {
    return std::any_of(
        writer.block.flat.outputs.begin(), writer.block.flat.outputs.end(),
        [&](const poly::Output& output) { return output.value == flat.tensors[tensor].value; });
  };
  int first = 0;
  const bool is_aggregated = writer.block.flat.is_reduction();
  for (int access : reads.body) {
    if (!is_written(flat.accesses[access].tensor)) continue;
    const bool is_same = can_share && !is_aggregated && IsSamePlace(reader, access, writer);
    first = std::max(first, is_same ? written : written + 1);
  }
  // Epilogues run after the loop, in the order of the stages.
  for (int access : reads.epilogue) {
    if (is_written(flat.accesses[access].tensor)) first = std::max(first, written);
  }
  for (int tensor : reads.computed) {
    if (is_written(tensor)) first = std::max(first, written + 1);
  }
  return first;
}

// Elements per step: as many vectors as divide the row, else the maximum. A stage that the planner
// gave one vector has much computation.
int64_t StepOf(const RowLoop& loop, const std::vector<RowStage>& stages) {
  const int64_t lanes = stages[loop.stages[0]].plan.lanes;
  int64_t most = std::min<int64_t>(kMaxVectors, loop.length / lanes);
  for (int s : loop.stages) {
    const RowStage& stage = stages[s];
    const bool is_long =
        !stage.block.flat.is_reduction() && stage.plan.unroll[stage.plan.vector_index] == lanes;
    if (is_long || loop.stages.size() > 2) most = std::min<int64_t>(most, 2);
  }
  for (int64_t vectors = most; 2 * vectors > most; --vectors) {
    if (loop.length % (vectors * lanes) == 0) return vectors * lanes;
  }
  return most * lanes;
}

}  // namespace

bool CanFuseAlongRow(const RowStage& stage) {
  const poly::FlatContraction& flat = stage.block.flat;
  const int v = stage.plan.vector_index;
  if (v < 0 || stage.plan.lanes < 2 || !flat.constraints.empty() || !flat.store_guard.empty() ||
      flat.needs_hits() || stage.plan.block) {
    return false;
  }
  if (flat.is_reduction() != (v >= flat.output_index_count)) return false;
  for (int i = 0; i < static_cast<int>(flat.indices.size()); ++i) {
    const bool is_origin = std::find(stage.block.origins.begin(), stage.block.origins.end(), i) !=
                           stage.block.origins.end();
    if (i != v && ((!is_origin && flat.indices[i].range > 1) || stage.plan.unroll[i] > 1)) {
      return false;
    }
  }
  return true;
}

std::vector<RowLoop> FuseStages(std::vector<RowStage>* stages) {
  std::vector<RowLoop> loops;
  std::vector<int> loop_of;
  for (size_t s = 0; s < stages->size(); ++s) {
    const RowStage& stage = (*stages)[s];
    const bool walks = CanFuseAlongRow(stage);
    int at = 0;
    for (size_t earlier = 0; earlier < s; ++earlier) {
      const bool can_share = walks && loops[loop_of[earlier]].length != 0;
      at = std::max(at, FirstLoop(stage, (*stages)[earlier], loop_of[earlier], can_share));
    }
    const auto fits = [&](const RowLoop& loop) {
      return walks && loop.length == Length(stage) && loop.stages.size() < kMaxStages &&
             (*stages)[loop.stages[0]].plan.lanes == stage.plan.lanes;
    };
    while (at < static_cast<int>(loops.size()) && !fits(loops[at])) ++at;
    if (at == static_cast<int>(loops.size())) {
      loops.push_back({{}, walks ? Length(stage) : 0, 0, {}});
    }
    loops[at].stages.push_back(static_cast<int>(s));
    loop_of.push_back(at);
  }
  for (RowLoop& loop : loops) {
    if (loop.length == 0) continue;
    loop.step = StepOf(loop, *stages);
    for (int s : loop.stages) {
      CpuPlan& plan = (*stages)[s].plan;
      plan.unroll[plan.vector_index] = loop.step;
    }
  }
  return loops;
}

std::vector<RowRead> RowsToPrefetch(const std::vector<RowLoop>& loops, int64_t length,
                                    const std::vector<RowStage>& stages,
                                    const std::vector<poly::RowKernel>& kernels) {
  std::vector<int> walking;
  for (const RowLoop& loop : loops) {
    if (loop.length == length)
      walking.insert(walking.end(), loop.stages.begin(), loop.stages.end());
  }
  std::vector<RowRead> ahead;
  std::set<ir::ValueId> seen;
  for (const RowStage& stage : stages) {
    for (const poly::Output& output : stage.block.flat.outputs) seen.insert(output.value);
  }
  for (int s : walking) {
    const RowStage& stage = stages[s];
    const poly::FlatContraction& flat = stage.block.flat;
    for (int access : ReadsOf(flat).body) {
      const int tensor = flat.accesses[access].tensor;
      if (kernels[s].tensors[tensor] >= 0) continue;
      const poly::FlatAccess read = FlattenRead(flat, access);
      const bool has_rows =
          std::any_of(stage.block.origins.begin(), stage.block.origins.end(),
                      [&](int origin) { return origin >= 0 && read.strides[origin] != 0; });
      if (!has_rows || read.strides[stage.plan.vector_index] != 1) continue;
      if (seen.insert(flat.tensors[tensor].value).second) ahead.push_back({s, access});
    }
  }
  return ahead;
}

PlanesToPrefetch FindPlanesToPrefetch(const std::vector<RowStage>& stages,
                                      const std::vector<poly::RowKernel>& kernels) {
  std::set<ir::ValueId> written;
  for (const RowStage& stage : stages) {
    for (const poly::Output& output : stage.block.flat.outputs) written.insert(output.value);
  }
  PlanesToPrefetch best;
  for (int s = 1; s < static_cast<int>(stages.size()); ++s) {
    const RowStage& stage = stages[s];
    const poly::FlatContraction& flat = stage.block.flat;
    std::vector<RowRead> reads;
    std::set<ir::ValueId> seen = written;
    for (int a = 0; a < static_cast<int>(flat.accesses.size()); ++a) {
      const int tensor = flat.accesses[a].tensor;
      if (kernels[s].tensors[tensor] >= 0) continue;
      const poly::FlatAccess read = FlattenRead(flat, a);
      const bool has_rows =
          std::all_of(stage.block.origins.begin(), stage.block.origins.end(),
                      [&](int origin) { return origin < 0 || read.strides[origin] != 0; });
      if (has_rows && seen.insert(flat.tensors[tensor].value).second) reads.push_back({s, a});
    }
    if (reads.size() > best.reads.size()) best = {s, std::move(reads)};
  }
  return best;
}

}  // namespace tartan::plan
