// SPDX-License-Identifier: Apache-2.0
// Identifies a file that was passed as a model and is not an ONNX model: a page of HTML, a zip
// archive, a model of another runtime.
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace tartan::onnx {

// A clause for the message "no ONNX model: …", such as "a zip archive: …", with advice if there is
// any. Empty for unknown formats and for ONNX models.
std::string KindOfFile(absl::Span<const uint8_t> bytes);

}  // namespace tartan::onnx
