// SPDX-License-Identifier: Apache-2.0
// Finds which buffer elements a kernel accesses. It executes only control flow and index
// arithmetic; no data is read or computed. Accesses that depend on data are reported as uncertain.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "tile/loop/loop_ir.h"

namespace tartan::loop {

struct TraceOptions {
  // Accesses to report: stores, and loads of the parameters for which `loads` is true, by position.
  bool stores = true;
  std::vector<bool> loads = {};  // empty: none
  // For kernels with sizes: the sizes and the global size of the launch.
  absl::Span<const int64_t> sizes = {};
  std::array<int64_t, 3> global_size = {0, 0, 0};  // zeros: the kernel's own
  // Traces only the work-groups at the edges of the grid: the first and the last two in each
  // dimension.
  bool edges_only = false;
  int64_t max_steps = INT64_MAX;  // limit on executed statements; the trace stops there
  // Visits nothing if literal loop bounds show that the trace reaches max_steps.
  bool only_if_complete = false;
};

struct Trace {
  // True for parameters, by position, with an access whose index, condition or loop depends on
  // data.
  std::vector<bool> is_uncertain;
  bool is_complete = true;  // false: the trace reached max_steps
};

// Calls `visit` for each access of `lanes` consecutive elements from `index` on. Vector loads that
// may skip elements (loop::CopyVector) report only what they read.
Trace TraceAccesses(const Kernel& kernel, const TraceOptions& options,
                    const std::function<void(int parameter, int64_t index, int64_t lanes)>& visit);

}  // namespace tartan::loop
