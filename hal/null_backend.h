// SPDX-License-Identifier: Apache-2.0
// A backend without a device: buffers are host memory and work is done as it is enqueued. Kernels
// of the format "null" do nothing. The skeleton for a new backend, and what tests use where the
// numbers do not matter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hal/hal.h"

namespace tartan::hal {

// Does what a kernel would: gets its name and the memory of its arguments.
using NullKernels =
    std::function<void(absl::string_view kernel, absl::Span<const absl::Span<uint8_t>> arguments)>;

struct NullOptions {
  int64_t memory_bytes = int64_t{1} << 30;  // allocations beyond it are ResourceExhausted
  bool poisons_memory = false;              // DeviceInfo
  NullKernels kernels = {};                 // for the launches of recordings; empty: nothing
};

// One device named "null".
std::unique_ptr<Driver> MakeNullDriver(const NullOptions& options = {});

}  // namespace tartan::hal
