// SPDX-License-Identifier: Apache-2.0
// The decision how one kernel is divided over work-items, loops and registers. What the plan looks
// like as code is lower's affair.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tile/plan/cpu/cpu_plan.h"
#include "tile/plan/gpu/gpu_plan.h"
#include "tile/plan/gpu/persistent/persistent_plan.h"
#include "tile/plan/gpu/row_stream_plan.h"
#include "tile/plan/matrix/matrix_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Work-items with a task each, or work-groups whose work-items share one. GPUs have the first for
// kernels that the second is not made for: one output element per work-item. Or work-groups that
// have their products from a matrix unit, or hold all of the weights that they multiply with,
// for one launch or for many.
using KernelPlan = std::variant<CpuPlan, GpuPlan, MatrixPlan, RowStreamPlan, PersistentPlan>;

std::string ToString(const KernelPlan& plan, const poly::FlatContraction& flat);

// A tensor of the kernel that another kernel computes ahead. It is a copy of one tensor's elements
// in another order (the copy's only tensor stands for `source`), or partial results of a reduction
// (then `source` is kNoValue, and the tensors read have values of their own).
struct PackedOperand {
  int tensor = 0;  // position in `flat.tensors`, where it has no value
  ir::ValueId source = ir::kNoValue;
  poly::FlatContraction copy;
  // The arguments of poly::PackRead that it was made with.
  int access = 0;
  int index = 0;
  int64_t block = 1;
};

// A kernel in the form it is generated from.
struct PlannedKernel {
  poly::FlatContraction flat;
  KernelPlan plan;
  std::vector<PackedOperand> packed;
  double predicted_us = 0;   // by the cost model; 0 where there is none
  std::string cost;          // its terms, for dumps
  bool is_unrolled = false;  // `flat` is poly::Unroll of the kernel
  double packing_us = 0;     // of predicted_us, for those of `packed` that each run computes
};

}  // namespace tartan::plan
