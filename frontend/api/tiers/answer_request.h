// SPDX-License-Identifier: Apache-2.0
// What a process that compiles for another one does (compiler_process.h).
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace tartan::api {

// Loads the compiler of a device (hal::DeviceInfo::index), and does what the proto::CompileRequest
// says that `read` then returns. Unimplemented where it is none that is known here, or none for
// that device.
absl::Status AnswerCompileRequest(int device, const std::function<std::string()>& read);

}  // namespace tartan::api
