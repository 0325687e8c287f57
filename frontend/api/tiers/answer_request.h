// SPDX-License-Identifier: Apache-2.0
// What a process that compiles for another one does (compiler_process.h).
#pragma once

#include <string>

#include "absl/status/status.h"

namespace tartan::api {

// Does what a proto::CompileRequest says. Unimplemented where it is none that is known here.
absl::Status AnswerCompileRequest(const std::string& request);

}  // namespace tartan::api
