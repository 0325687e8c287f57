// SPDX-License-Identifier: Apache-2.0
// The plan (schedule) of one kernel: how its iterations map to work-items, loops and registers.
// `tile/lower` generates the code from it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tile/plan/cpu_plan.h"
#include "tile/plan/few_rows_plan.h"
#include "tile/plan/gpu_plan.h"
#include "tile/plan/matrix_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// All kinds of plan.
// - CpuPlan: one task per work-item. On GPUs: one output element per work-item, for kernels that
//   have no GpuPlan.
// - GpuPlan: a work-group computes a tile of outputs.
// - MatrixPlan: GEMM on tensor cores.
// - RowStreamPlan: GEMM of few rows whose work-groups copy all their weights to local memory.
// - PersistentPlan: a recurrent step that keeps its weights on chip for several launches.
using KernelPlan = std::variant<CpuPlan, GpuPlan, MatrixPlan, RowStreamPlan, PersistentPlan>;

std::string ToString(const KernelPlan& plan, const poly::FlatContraction& flat);

// A tensor of the kernel that another kernel computes first. Either it is a repacked copy of
// `source` (the only tensor of `copy` stands for `source`), or it has the partial results of a
// split reduction. In the latter case `source` is kNoValue, and the tensors of `copy` have values
// of their own.
struct PackedOperand {
  int tensor = 0;  // position in `flat.tensors`; that tensor has no value
  ir::ValueId source = ir::kNoValue;
  poly::FlatContraction copy;
  // Arguments of the poly::PackRead call that made `copy`.
  int access = 0;
  int index = 0;
  int64_t block = 1;
};

// A plan together with the form of the kernel that is lowered, which may read packed operands.
struct PlannedKernel {
  poly::FlatContraction flat;
  KernelPlan plan;
  std::vector<PackedOperand> packed;
  double predicted_us = 0;   // predicted time of one run, microseconds; 0: no cost model
  std::string cost;          // terms of the cost, for dumps
  bool is_unrolled = false;  // `flat` is the result of poly::Unroll
  double packing_us = 0;     // part of predicted_us: operands that are packed in each run
};

}  // namespace tartan::plan
