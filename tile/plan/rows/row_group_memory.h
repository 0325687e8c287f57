// SPDX-License-Identifier: Apache-2.0
// What kernels of a chain with products may do as stages of one launch on GPUs, and the local
// memory that they take.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/plan/rows/row_group_plan.h"
#include "tile/poly/row_block.h"

namespace tartan::plan {

// Blocks of rows and groups of work-items that are tried.
inline constexpr int64_t kMostBlockRows = 64;
inline constexpr int64_t kFewestThreads = 64;
inline constexpr int64_t kMostGroupThreads = 256;

// Elements of a row and stage that one work-item walks at most.
inline constexpr int64_t kMostItemElements = 128;

// None of the kernels is only possible in a launch of its own.
bool MayBeStages(const std::vector<poly::RowKernel>& kernels);

// A kernel reads of a buffer what another of the chain has written there: two groups with rows in
// common would race for these.
bool HandsOnInBuffers(const std::vector<poly::RowKernel>& kernels);

// Tensors of a stage's kernel that are in local memory.
std::vector<bool> LocalTensors(const poly::RowKernel& kernel);

// Local memory for what is kept of a block, for partial results, and for what a walk carries from a
// block of a row to the next.
int64_t LocalBytesOfRows(const std::vector<poly::RowKernel>& kernels,
                         const std::vector<poly::RowTensor>& tensors, const RowGroupPlan& plan);

}  // namespace tartan::plan
