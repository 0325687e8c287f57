// SPDX-License-Identifier: Apache-2.0
// Instead of jpeg.cc in builds without libjpeg-turbo.
#include "frontend/data/jpeg.h"

namespace tartan::data {
namespace {

absl::Status Missing() {
  return absl::UnimplementedError(
      "this build of Tartan cannot read JPEG pictures; install libjpeg-dev, configure with CMake "
      "and build again, or convert the pictures to PNG");
}

}  // namespace

absl::StatusOr<PictureHeader> ReadJpegHeader(absl::Span<const uint8_t>) { return Missing(); }
absl::StatusOr<Picture> DecodeJpeg(absl::Span<const uint8_t>) { return Missing(); }

}  // namespace tartan::data
