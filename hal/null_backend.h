// SPDX-License-Identifier: Apache-2.0
// A backend without a device: buffers are host memory and work is done as it is enqueued. Kernels
// of the format "null" do nothing. The skeleton for a new backend, and what tests use where the
// numbers do not matter.
#pragma once

#include <cstdint>
#include <memory>

#include "hal/hal.h"

namespace tartan::hal {

struct NullOptions {
  int64_t memory_bytes = int64_t{1} << 30;  // allocations beyond it are ResourceExhausted
};

// One device named "null".
std::unique_ptr<Driver> MakeNullDriver(const NullOptions& options = {});

}  // namespace tartan::hal
