// SPDX-License-Identifier: Apache-2.0
// Pixels as a PNG file.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tartan::data {

// Colours (red, green, blue) from the top left, row by row: height × width × 3 bytes. The same
// bytes for the same pixels. InvalidArgument for sizes that are none or do not fit the pixels.
absl::StatusOr<std::string> EncodePng(int64_t height, int64_t width,
                                      absl::Span<const uint8_t> pixels);

}  // namespace tartan::data
