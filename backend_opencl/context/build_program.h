// SPDX-License-Identifier: Apache-2.0
// Builds OpenCL programs from source text and from binaries.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backend_opencl/api/opencl_api.h"
#include "backend_opencl/context/opencl_context.h"

namespace tartan::opencl {

// Returns Internal if the build fails, with the driver's log and the source lines that the log
// mentions.
absl::StatusOr<ProgramHandle> BuildFromSource(const OpenClContext& device, absl::string_view source,
                                              const std::string& options);

// `binary` must be an unmodified result of BinaryOf, because drivers crash on damaged binaries.
// Fails if the driver rejects the binary.
absl::StatusOr<ProgramHandle> BuildFromBinary(const OpenClContext& device, absl::string_view binary,
                                              const std::string& options);

absl::StatusOr<std::string> BinaryOf(cl_program program);

}  // namespace tartan::opencl
