// SPDX-License-Identifier: Apache-2.0
// Decodes JPEG pictures by libjpeg-turbo, which is optional: jpeg.cc uses it, without_jpeg.cc is
// compiled if the build does not find it. Internal to this folder.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/data/picture.h"

namespace tartan::data {

// InvalidArgument if the file is damaged or not JPEG, Unimplemented for CMYK pictures and for
// builds without libjpeg-turbo.
absl::StatusOr<PictureHeader> ReadJpegHeader(absl::Span<const uint8_t> bytes);
// The same, and ResourceExhausted for more than 64 million pixels. An orientation in the metadata
// is not applied.
absl::StatusOr<Picture> DecodeJpeg(absl::Span<const uint8_t> bytes);

}  // namespace tartan::data
