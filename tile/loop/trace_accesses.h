// SPDX-License-Identifier: Apache-2.0
// Which elements of its buffers a kernel accesses, found by executing its control flow and its
// index arithmetic alone: no values are read or computed. What depends on values is reported as
// uncertain.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "tile/loop/loop_ir.h"

namespace tartan::loop {

struct TraceOptions {
  // Accesses to report: stores and, where `loads` says so, loads of the parameters, by position.
  bool stores = true;
  std::vector<bool> loads = {};  // empty: none
  // Of a kernel with sizes: those of the launch, and its work-items.
  absl::Span<const int64_t> sizes = {};
  std::array<int64_t, 3> global_size = {0, 0, 0};  // zeros: those of the kernel
  // Traces the work-groups at the edges of the grid alone: the first and the last two in each
  // dimension.
  bool edges_only = false;
  int64_t max_steps = INT64_MAX;  // executed statements, after which the trace gives up
};

struct Trace {
  // Parameters with an access whose index, condition or loop depends on values: by position.
  std::vector<bool> is_uncertain;
  bool is_complete = true;  // false: the trace gave up
};

// Calls `visit` for each access: a parameter's position, and `lanes` consecutive elements from
// `index` on. Vector loads whose elements may be left out (loop::CopyVector) report what they read.
Trace TraceAccesses(const Kernel& kernel, const TraceOptions& options,
                    const std::function<void(int parameter, int64_t index, int64_t lanes)>& visit);

}  // namespace tartan::loop
