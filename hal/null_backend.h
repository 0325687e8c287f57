// SPDX-License-Identifier: Apache-2.0
// A backend without hardware, for tests that do not depend on computed values, and the skeleton for
// a new backend. Buffers are host memory, and work is executed when it is enqueued. Kernels of the
// format "null" do nothing unless NullOptions::kernels is set.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hal/hal.h"

namespace tartan::hal {

// Replaces kernel execution. It receives the kernel's name and the memory of its arguments.
using NullKernels =
    std::function<void(absl::string_view kernel, absl::Span<const absl::Span<uint8_t>> arguments)>;

struct NullOptions {
  int64_t memory_bytes = int64_t{1} << 30;  // bytes; larger totals are ResourceExhausted
  bool poisons_memory = false;              // DeviceInfo::poisons_memory
  NullKernels kernels = {};  // called for each launch of a recording; empty: no effect
};

// Creates a driver with one device named "null".
std::unique_ptr<Driver> MakeNullDriver(const NullOptions& options = {});

}  // namespace tartan::hal
