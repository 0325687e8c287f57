// SPDX-License-Identifier: Apache-2.0
// The plans that tuning would measure for a kernel, as text.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tile/base/hardware_settings.h"
#include "tile/codegen/dialect.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::golden {

// "12 lines, 0123456789abcdef"
std::string Digest(absl::string_view text);

// A CompileOptions::planner that takes the cost model's choice and adds the first `count`
// candidates of each kernel to `text`: plan, cost, kernels, and whether the tuning database gives
// it back. All that it is given outlives it.
std::function<plan::PlannedKernel(const poly::FlatContraction&, const std::vector<bool>&)>
CandidateRecorder(int count, const HardwareSettings& settings, const codegen::Dialect& dialect,
                  std::string* text);

}  // namespace tartan::golden
