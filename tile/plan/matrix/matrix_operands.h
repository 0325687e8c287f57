// SPDX-License-Identifier: Apache-2.0
// Which indices are the rows, columns and depth of a product on a matrix unit, and how its factors
// come to local memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tile/base/precision.h"
#include "tile/plan/kernel_plan.h"
#include "tile/plan/matrix/matrix_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Which of the body's factors are packed though they are no constants.
using PackedVariables = std::array<bool, 2>;

struct MatrixOperands {
  PlannedKernel planned;  // the kernel that reads what is packed, without a plan
  MatrixPlan plan;        // all but tiles, slices and stages
  // Factors that are packed in each run, and the bytes that this moves.
  int packings = 0;
  int64_t packed_bytes = 0;
};

// Nothing where the kernel is no sum of products of two reads of floats whose output indices belong
// to one of the factors each, or to both; or where a factor that is to be packed is a constant, or
// cannot be. Constant factors (`is_constant`, of the kernel's tensors) are packed.
std::optional<MatrixOperands> ChooseMatrixOperands(const poly::FlatContraction& flat,
                                                   MatrixFormat format,
                                                   const std::vector<bool>& is_constant,
                                                   const PackedVariables& packed);

// The same for a part of a larger kernel, which packs nothing: a group has one value of each of the
// indices `fixed`, which count as a batch, and reads local memory where `is_local` says so.
std::optional<MatrixPlan> ChooseMatrixOperandsOfGroup(const poly::FlatContraction& flat,
                                                      MatrixFormat format,
                                                      const std::vector<int>& fixed,
                                                      const std::vector<bool>& is_local);

}  // namespace tartan::plan
