// SPDX-License-Identifier: Apache-2.0
// Legality of row fusion with GEMM stages on GPUs, and its local memory.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

inline constexpr int64_t kMaxBlockRows = 64;      // maximum rows per block
inline constexpr int64_t kMinThreads = 64;        // minimum work-items per work-group
inline constexpr int64_t kMaxGroupThreads = 256;  // maximum work-items per work-group

// Maximum elements of a row that one work-item processes in a stage.
inline constexpr int64_t kMaxItemElements = 128;

// Returns whether no kernel requires a launch of its own.
bool MayBeStages(const std::vector<poly::RowKernel>& kernels);

// Returns whether a kernel reads a buffer that another one writes. Work-groups with overlapping
// blocks would race for it.
bool PassesResultsInBuffers(const std::vector<poly::RowKernel>& kernels);

// Returns, per tensor of a stage's kernel, whether it is in local memory.
std::vector<bool> LocalTensors(const poly::RowKernel& kernel);

// Bytes of local memory: tensors kept per block, partial results, and values carried from one block
// of keys to the next.
int64_t LocalBytesOfRows(const std::vector<poly::RowKernel>& kernels,
                         const std::vector<poly::RowTensor>& tensors, const RowGroupPlan& plan);

}  // namespace tartan::plan
