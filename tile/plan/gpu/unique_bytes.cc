// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/gpu/unique_bytes.h"

#include <algorithm>
#include <variant>

#include "tile/plan/machine.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

// Returns whether several work-groups read the same elements.
bool IsShared(const GroupProblem& problem, const GroupProblem::Access& access) {
  for (int i = 0; i < problem.flat().output_index_count; ++i) {
    if (access.flat.strides[i] == 0) return true;
  }
  return false;
}

// Excess traffic of short contiguous spans, share of the bytes that are read; empirical.
double ShortSpans(const poly::FlatAccess& access, double element_bytes, const GpuPlan& plan) {
  int64_t span = 1;
  for (const TileDim& dim : MergeTileDims(access, plan.Tile(), {})) {
    if (dim.global_stride == 1) span = dim.range;
  }
  const double bytes = static_cast<double>(span) * element_bytes;
  // A span shorter than a sector reads the whole sector.
  if (bytes < gpu::kSectorBytes) return gpu::kSectorBytes / bytes - 1;
  return bytes <= gpu::kSectorBytes ? 0.35 : bytes <= 2 * gpu::kSectorBytes ? 0.06 : 0;
}

// Maximum number of elements that an access touches.
double TouchedBy(const GroupProblem& problem, const GroupProblem::Access& access) {
  double places = 1;
  for (int i = 0; i < problem.index_count(); ++i) {
    if (access.flat.strides[i] == 0) continue;
    places *= static_cast<double>(problem.flat().indices[i].range);
  }
  return std::min(places, static_cast<double>(access.count));
}

// Maximum number of elements that all accesses of a tensor touch. A kernel may read a slice of a
// tensor.
double TouchedOf(const GroupProblem& problem, int tensor) {
  const poly::FlatContraction& flat = problem.flat();
  double touched = 0;
  for (size_t a = 0; a < flat.accesses.size(); ++a) {
    const GroupProblem::Access& access = problem.accesses()[a];
    if (flat.accesses[a].tensor == tensor && !access.is_local) {
      touched += TouchedBy(problem, access);
    }
  }
  poly::VisitExprs(flat, [&](const poly::Expr& expr) {
    const auto* read = std::get_if<poly::ReadAt>(&expr.node);
    if (read == nullptr || read->tensor != tensor) return;
    touched += static_cast<double>(flat.point_count());
  });
  return std::min(touched, static_cast<double>(flat.tensors[tensor].shape.element_count()));
}

}  // namespace

double UniqueBytes(const GroupProblem& problem, const GpuPlan& plan) {
  const poly::FlatContraction& flat = problem.flat();
  double bytes = 0;
  for (const GroupProblem::Access& access : problem.accesses()) {
    if (!access.in_body || access.is_local || IsShared(problem, access)) continue;
    const auto width = static_cast<double>(ByteWidth(access.type));
    bytes += ShortSpans(access.flat, width, plan) * TouchedBy(problem, access) * width;
  }
  for (size_t t = 0; t < flat.tensors.size(); ++t) {
    bytes += TouchedOf(problem, static_cast<int>(t)) *
             static_cast<double>(ByteWidth(flat.tensors[t].shape.type));
  }
  if (problem.is_local_output()) return bytes;
  // A kernel may write only a part of its outputs.
  const int64_t points = flat.output_point_count();
  for (const poly::Output& output : flat.outputs) {
    bytes += static_cast<double>(std::min(output.shape.element_count(), points) *
                                 ByteWidth(output.shape.type));
  }
  return bytes;
}

}  // namespace tartan::plan
