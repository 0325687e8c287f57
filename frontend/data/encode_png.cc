// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/encode_png.h"

#include <png.h>

#include "absl/strings/str_cat.h"

namespace tartan::data {
namespace {

constexpr int64_t kMaxSide = 1 << 15;

}  // namespace

absl::StatusOr<std::string> EncodePng(int64_t height, int64_t width,
                                      absl::Span<const uint8_t> pixels) {
  const bool is_size = height > 0 && width > 0 && height <= kMaxSide && width <= kMaxSide;
  if (!is_size || height * width * 3 != static_cast<int64_t>(pixels.size())) {
    return absl::InvalidArgumentError(absl::StrCat(height, " rows of ", width,
                                                   " pixels with 3 channels do not have ",
                                                   pixels.size(), " bytes"));
  }
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  const auto write = [&](void* to) {
    return png_image_write_to_memory(&image, to, &size, 0, pixels.data(), 0, nullptr) != 0;
  };
  std::string bytes;
  if (write(nullptr)) {
    bytes.resize(size);
    if (write(bytes.data())) {
      bytes.resize(size);
      return bytes;
    }
  }
  const std::string why = image.message;
  png_image_free(&image);
  return absl::InternalError(absl::StrCat("a picture cannot be written as PNG: ", why));
}

}  // namespace tartan::data
