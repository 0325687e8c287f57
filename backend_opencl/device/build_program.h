// SPDX-License-Identifier: Apache-2.0
// Makes OpenCL programs, from source and from binaries.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backend_opencl/device/opencl_api.h"
#include "backend_opencl/device/opencl_context.h"

namespace tartan::opencl {

// Internal with the driver's log and the source lines it speaks of where the build fails.
absl::StatusOr<ProgramHandle> BuildFromSource(const OpenClContext& device, absl::string_view source,
                                              const std::string& options);

// `binary` must be as BinaryOf gave it: drivers crash on damaged ones. Fails where the driver
// rejects it.
absl::StatusOr<ProgramHandle> BuildFromBinary(const OpenClContext& device, absl::string_view binary,
                                              const std::string& options);

absl::StatusOr<std::string> BinaryOf(cl_program program);

}  // namespace tartan::opencl
