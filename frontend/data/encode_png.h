// SPDX-License-Identifier: Apache-2.0
// Encodes pixels as a PNG file.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tartan::data {

// Encodes RGB pixels, row by row from the top left: height × width × 3 bytes. Deterministic.
// InvalidArgument for sizes that are not positive or do not match the pixels.
absl::StatusOr<std::string> EncodePng(int64_t height, int64_t width,
                                      absl::Span<const uint8_t> pixels);

}  // namespace tartan::data
