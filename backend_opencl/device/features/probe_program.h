// SPDX-License-Identifier: Apache-2.0
// Small programs that are built to see what a driver's compiler does with them.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backend_opencl/device/opencl_api.h"

namespace tartan::opencl {

// Without warnings, and past all caches.
absl::StatusOr<ProgramHandle> BuildProbe(cl_context context, cl_device_id device,
                                         absl::string_view text);

}  // namespace tartan::opencl
