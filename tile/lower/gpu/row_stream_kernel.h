// SPDX-License-Identifier: Apache-2.0
// Lowers skinny matmuls (few rows, constant weights): each work-group streams a block of columns.
#pragma once

#include <string>

#include "tile/loop/loop_ir.h"
#include "tile/lower/emit/lower_options.h"
#include "tile/plan/row_stream_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

loop::Kernel LowerRowStream(const poly::FlatContraction& flat, const plan::RowStreamPlan& plan,
                            const std::string& name, const LowerOptions& options);

}  // namespace tartan::lower
