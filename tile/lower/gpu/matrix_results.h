// SPDX-License-Identifier: Apache-2.0
// How the sums that a matrix unit leaves in the work-items' accumulators become results.
#pragma once

#include <string>
#include <vector>

#include "tile/loop/build.h"
#include "tile/plan/matrix/matrix_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Sums go from "total" to local memory, in the place of "tiles", from where the work-items take
// what is stored side by side. Or results stay in registers: in the array `held`, in pairs of
// columns, those of a work-item's first row before those of its second, 8 rows further. A row's
// four work-items have pairs side by side. `batch_values`: of plan.batch; "item", "warp_group",
// "slice", "row_base" and "column_base" are declared.
std::vector<loop::StmtPtr> StoreMatrixResults(const poly::FlatContraction& flat,
                                              const plan::MatrixPlan& plan,
                                              const std::vector<loop::ExprPtr>& batch_values,
                                              DataType index_type, const std::string& held = "");

}  // namespace tartan::lower
