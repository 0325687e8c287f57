// SPDX-License-Identifier: Apache-2.0
// PNG pictures as model inputs.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/base/host_tensor.h"

namespace tartan::data {

// What a PNG file's first bytes tell.
struct PngHeader {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 1;  // as DecodePng gives them
  int bit_depth = 8;
};

// InvalidArgument for what does not begin as a PNG file.
absl::StatusOr<PngHeader> ReadPngHeader(absl::Span<const uint8_t> bytes);

struct Picture {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 1;       // 1 (gray) or 3 (red, green, blue)
  std::vector<float> values;  // height × width × channels, 0..1
};

// Gray, palette or colour, any bit depth; transparency is dropped. InvalidArgument for what is no
// PNG file or is damaged, ResourceExhausted beyond 64 million pixels.
absl::StatusOr<Picture> DecodePng(absl::Span<const uint8_t> bytes);

// The picture's elements as `type` (a float type: 0..1; uint8: 0..255), [channels, height, width]
// or [height, width, channels]. Colour is averaged to gray (ITU-R BT.601 weights) and gray repeated
// as colour, as 1 or 3 channels ask for it.
std::vector<uint8_t> PictureBytes(const Picture& picture, DataType type, int64_t channels,
                                  bool channels_last);

// The same as a tensor of `dims`, where -1 takes the picture's size: [N, C, H, W], [N, H, W, C],
// [C, H, W], [H, W, C] or [H, W], with N = 1; C decides which, and where both could be, the sizes
// do. InvalidArgument for other types, and naming both sizes when they differ: nothing is resized.
absl::StatusOr<HostTensor> PictureToTensor(const Picture& picture, DataType type,
                                           absl::Span<const int64_t> dims);

}  // namespace tartan::data
