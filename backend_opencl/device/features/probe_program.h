// SPDX-License-Identifier: Apache-2.0
// Builds small programs that test a driver's compiler.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backend_opencl/api/opencl_api.h"

namespace tartan::opencl {

// Builds without warnings and without caches.
absl::StatusOr<ProgramHandle> BuildProbe(cl_context context, cl_device_id device,
                                         absl::string_view text);

}  // namespace tartan::opencl
