// SPDX-License-Identifier: Apache-2.0
// Pictures in their files' formats (BMP, JPEG, JPEG 2000, TIFF, PNG, WebP, PNM) to pixels, by the
// library Leptonica. It is opened when a picture is first decoded: with the libraries it needs it
// would double the time a program takes to start.
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

// Nothing for what is no picture in one of the formats, or damaged. Transparency is dropped, 16
// bits become 8. ResourceExhausted for more than kMaxPicturePixels, which is found out before
// anything is decoded; Unimplemented where there is no Leptonica. Threads: any number.
absl::StatusOr<std::optional<Picture>> DecodePicture(absl::Span<const uint8_t> file);

}  // namespace tartan::onnx
