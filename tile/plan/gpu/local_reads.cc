// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/local_reads.h"

#include <utility>
#include <vector>

namespace tartan::plan {
namespace {

void StageAccess(const GroupProblem& problem, int number, GpuPlan* plan) {
  const GroupProblem::Access& access = problem.accesses()[number];
  const std::vector<int64_t> tile = plan->Tile();
  StagedAccess staged;
  staged.access = number;
  staged.is_there = true;
  staged.layout.size = 0;
  for (int i = 0; i < problem.index_count(); ++i) {
    const int64_t stride = access.flat.strides[i];
    const int64_t vector = plan->splits[i].vector;
    if (vector > 1 && i != plan->lane_index && stride == 1 && !problem.is_output(i)) {
      staged.vector_index = i;
    } else if (stride % 4 != 0 || (vector > 1 && stride != 0)) {
      return;
    }
    if (stride == 0 || tile[i] == 1) continue;
    TileDim dim;
    dim.members = {{i, 1}};
    dim.range = tile[i];
    dim.global_stride = dim.local_stride = stride;
    staged.layout.dims.push_back(std::move(dim));
  }
  if (staged.vector_index >= 0 && access.flat.offset == 0) plan->staged.push_back(staged);
}

}  // namespace

void StageLocal(const GroupProblem& problem, GpuPlan* plan) {
  // Vectors along a reduced lane index are read as vectors in any case.
  if (plan->lane_index >= problem.flat().output_index_count) return;
  for (size_t a = 0; a < problem.accesses().size(); ++a) {
    const GroupProblem::Access& access = problem.accesses()[a];
    if (access.is_local && access.in_body) StageAccess(problem, static_cast<int>(a), plan);
  }
}

}  // namespace tartan::plan
