// SPDX-License-Identifier: Apache-2.0
// Maps a kernel's indices to the rows, columns, batch and K of a tensor-core GEMM, and chooses how
// each factor is loaded into local memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/precision.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/matrix_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// For each of the body's two factors: pack it in each run although it is not constant.
using PackedVariables = std::array<bool, 2>;

struct MatrixOperands {
  PlannedKernel planned;  // the kernel that reads the packed factors; no plan yet
  MatrixPlan plan;        // complete except for tiles, slices and stages
  // Number of factors packed in each run, and the bytes that packing moves.
  int packings = 0;
  int64_t packed_bytes = 0;
};

// Maps a kernel whose constant factors are packed. Empty unless the kernel sums the multiplied
// values of two float reads, and each output index belongs to one factor or to both. Also empty if
// a factor in `packed` is constant or cannot be packed. `is_constant[t]`: tensor t is constant.
std::optional<MatrixOperands> ChooseMatrixOperands(const poly::FlatContraction& flat,
                                                   MatrixFormat format,
                                                   const std::vector<bool>& is_constant,
                                                   const PackedVariables& packed);

// Maps a GEMM stage of a larger kernel, without packing. A work-group has one value of each index
// in `fixed`; these form the batch. `is_local[t]`: tensor t is in local memory.
std::optional<MatrixPlan> ChooseMatrixOperandsOfGroup(const poly::FlatContraction& flat,
                                                      MatrixFormat format,
                                                      const std::vector<int>& fixed,
                                                      const std::vector<bool>& is_local);

}  // namespace tartan::plan
