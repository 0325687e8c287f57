// SPDX-License-Identifier: Apache-2.0
// Emits the epilogue of an MMA kernel: turns the work-items' accumulators into stored results.
#pragma once

#include <string>
#include <vector>

#include "tile/loop/build.h"
#include "tile/plan/matrix_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Sums go from "total" to local memory, over "tiles", from where work-items load contiguous vectors
// to store. Alternatively results stay in registers, in the array `held`: pairs of columns, first
// for a work-item's first row, then for its second row, 8 rows further. The four work-items of a
// row have adjacent pairs. `batch_values` are the values of plan.batch. Expects "item",
// "warp_group", "slice", "row_base" and "column_base" in scope.
std::vector<loop::StmtPtr> StoreMmaResults(const poly::FlatContraction& flat,
                                           const plan::MatrixPlan& plan,
                                           const std::vector<loop::ExprPtr>& batch_values,
                                           DataType index_type, const std::string& held = "");

}  // namespace tartan::lower
