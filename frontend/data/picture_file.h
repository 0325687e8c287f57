// SPDX-License-Identifier: Apache-2.0
// Decodes picture files: PNG, and JPEG if the build has it.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontend/data/picture.h"

namespace tartan::data {

// Returns true if a path has the extension of a picture, in any case: .png, .jpg, .jpeg.
bool IsPictureName(absl::string_view path);

// The first bytes decide about the format: PNG (picture.h) or JPEG (jpeg.h), with their errors.
absl::StatusOr<PictureHeader> ReadPictureHeader(absl::Span<const uint8_t> bytes);
absl::StatusOr<Picture> DecodePicture(absl::Span<const uint8_t> bytes);

}  // namespace tartan::data
