// SPDX-License-Identifier: Apache-2.0
// Decodes image files (BMP, JPEG, JPEG 2000, TIFF, PNG, WebP, PNM) to pixels with the library
// Leptonica. The library is opened when the first picture is decoded, because loading it and its
// dependencies would double the start time of a program.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tartan::onnx {

struct Picture {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> rgb;  // [height, width, 3]
};

inline constexpr int64_t kMaxPicturePixels = int64_t{1} << 27;

// Returns nothing for damaged data and other formats. Drops transparency and reduces 16 bits to 8.
// ResourceExhausted above kMaxPicturePixels, checked before decoding. Unimplemented without
// Leptonica. Thread-safe.
absl::StatusOr<std::optional<Picture>> DecodePicture(absl::Span<const uint8_t> file);

}  // namespace tartan::onnx
