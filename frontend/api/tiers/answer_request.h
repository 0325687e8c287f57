// SPDX-License-Identifier: Apache-2.0
// Serves a compile request in a compiler process (compiler_process.h).
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace tartan::api {

// Loads the compiler of a device (hal::DeviceInfo::index), then executes the proto::CompileRequest
// that `read` returns. Unimplemented if the request is unknown here or meant for another device.
absl::Status AnswerCompileRequest(int device, const std::function<std::string()>& read);

}  // namespace tartan::api
