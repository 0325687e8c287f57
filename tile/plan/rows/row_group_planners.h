// SPDX-License-Identifier: Apache-2.0
// The planners of row fusion on GPUs. Each has a source of its own. The planners of fused attention
// return the fastest plan by the cost model, with its time. Blocks of such a plan need not divide
// the last row axis.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/precision.h"
#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// Plans row fusion without GEMMs (plan_row_groups.cc). Blocks divide the last row axis. Empty if
// some kernel needs a launch of its own or is faster there.
std::optional<RowGroupPlan> PlanRowGroups(const std::vector<int64_t>& rows,
                                          const std::vector<poly::RowKernel>& kernels,
                                          const std::vector<poly::RowTensor>& tensors,
                                          const HardwareSettings& settings);

// Plans GEMM stages without tensor cores (plan_row_gemms.cc). Empty if a block does not fit local
// memory, or if some kernel needs a launch of its own.
std::optional<RowGroupPlan> PlanRowGemms(const std::vector<int64_t>& rows,
                                         const std::vector<poly::RowKernel>& kernels,
                                         const std::vector<poly::RowTensor>& tensors,
                                         const HardwareSettings& settings);

// Plans GEMM stages on tensor cores (plan_matrix_rows.cc): 128 work-items have a block of 64 rows,
// whose elements stay in the accumulator registers between stages. Empty if the device has no
// tensor cores or they cannot compute some GEMM stage. Empty, too, if there are fewer rows than a
// block or local memory is too small.
std::optional<RowGroupPlan> PlanTensorCoreRows(const std::vector<int64_t>& rows,
                                               const std::vector<poly::RowKernel>& kernels,
                                               const std::vector<poly::RowTensor>& tensors,
                                               const HardwareSettings& settings,
                                               MatrixFormat format);

// Plans online softmax (plan_online_rows.cc): rows are processed in blocks of keys
// (poly::FindOnlineSoftmax). Empty if the kernels have another form, if rows are short, or if a
// block does not fit local memory.
std::optional<RowGroupPlan> PlanOnlineRows(const std::vector<int64_t>& rows,
                                           const std::vector<poly::RowKernel>& kernels,
                                           const std::vector<poly::RowTensor>& tensors,
                                           const HardwareSettings& settings);

// Adapts a plan of PlanOnlineRows to other kernels of the same form.
void CutOnlineRows(const std::vector<poly::RowKernel>& kernels,
                   const std::vector<poly::RowTensor>& tensors, RowGroupPlan* plan);

}  // namespace tartan::plan
