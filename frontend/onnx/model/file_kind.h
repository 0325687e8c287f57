// SPDX-License-Identifier: Apache-2.0
// Names what a file is that was given as a model and is none: a page of HTML, a zip archive, a
// model of another runtime.
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace tartan::onnx {

// A clause that follows "no ONNX model:" and says what to do where that is known, as "a zip
// archive: …". Empty for bytes that no format is known for, and for ONNX models.
std::string KindOfFile(absl::Span<const uint8_t> bytes);

}  // namespace tartan::onnx
