// SPDX-License-Identifier: Apache-2.0
// Decodes PNG pictures into model inputs.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/base/host_tensor.h"

namespace tartan::data {

// Maximum number of pixels of a picture.
inline constexpr int64_t kMaxPicturePixels = int64_t{1} << 26;

// The size and format of a picture file, from its first bytes.
struct PictureHeader {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 1;  // channels of the decoded picture
  int bit_depth = 8;
};

// InvalidArgument if the bytes do not begin as a PNG file.
absl::StatusOr<PictureHeader> ReadPngHeader(absl::Span<const uint8_t> bytes);

struct Picture {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 1;       // 1 (gray) or 3 (red, green, blue)
  std::vector<float> values;  // height × width × channels, 0..1
};

// Decodes gray, palette or colour pictures with any number of bits per sample; transparency is
// dropped. InvalidArgument if the file is damaged or not PNG, ResourceExhausted for more than 64
// million pixels.
absl::StatusOr<Picture> DecodePng(absl::Span<const uint8_t> bytes);

// The class of each pixel, height × width.
struct Mask {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> classes;
};

// Decodes a PNG mask: the samples of a gray picture as they are, or the indices of a palette.
// InvalidArgument if the file is damaged, has colours or more than 8 bits per sample.
absl::StatusOr<Mask> DecodeMask(absl::Span<const uint8_t> bytes);

// Converts the picture to `type` (float types: 0..1; uint8: 0..255), as [channels, height, width]
// or [height, width, channels]. For 1 channel, colour is converted to gray (ITU-R BT.601 weights);
// for 3 channels, gray is repeated.
std::vector<uint8_t> PictureBytes(const Picture& picture, DataType type, int64_t channels,
                                  bool channels_last);

// Returns the same as a tensor of `dims`, where -1 takes the picture's size. The layout is one of
// [N, C, H, W], [N, H, W, C], [C, H, W], [H, W, C] and [H, W], with N = 1. The position of C
// decides; if it is ambiguous, the sizes do. InvalidArgument for other types, and naming both sizes
// if they differ: nothing is resized.
absl::StatusOr<HostTensor> PictureToTensor(const Picture& picture, DataType type,
                                           absl::Span<const int64_t> dims);

}  // namespace tartan::data
