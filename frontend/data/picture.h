// SPDX-License-Identifier: Apache-2.0
// PNG pictures as model inputs.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/base/host_tensor.h"

namespace tartan::data {

struct Picture {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 1;       // 1 (gray) or 3 (red, green, blue)
  std::vector<float> values;  // height × width × channels, 0..1
};

// Gray, palette or colour, any bit depth; transparency is dropped. InvalidArgument for what is no
// PNG file or is damaged, ResourceExhausted beyond 64 million pixels.
absl::StatusOr<Picture> DecodePng(absl::Span<const uint8_t> bytes);

// The picture as a tensor of `type` (a float type: 0..1; uint8: 0..255) and `dims`, where -1 takes
// the picture's size: [N, C, H, W], [N, H, W, C], [C, H, W], [H, W, C] or [H, W], with N = 1; C
// decides which, and where both could be, the sizes do. Colour is averaged to gray (ITU-R BT.601
// weights) and gray repeated as colour where C asks for it. InvalidArgument naming both sizes when
// they differ: nothing is resized.
absl::StatusOr<HostTensor> PictureToTensor(const Picture& picture, DataType type,
                                           absl::Span<const int64_t> dims);

}  // namespace tartan::data
