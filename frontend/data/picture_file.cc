// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/picture_file.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "frontend/data/jpeg.h"

namespace tartan::data {
namespace {

bool IsJpeg(absl::Span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0xFF && bytes[1] == 0xD8;
}

}  // namespace

bool IsPictureName(absl::string_view path) {
  const std::string lower = absl::AsciiStrToLower(path);
  return absl::EndsWith(lower, ".png") || absl::EndsWith(lower, ".jpg") ||
         absl::EndsWith(lower, ".jpeg");
}

absl::StatusOr<PictureHeader> ReadPictureHeader(absl::Span<const uint8_t> bytes) {
  return IsJpeg(bytes) ? ReadJpegHeader(bytes) : ReadPngHeader(bytes);
}

absl::StatusOr<Picture> DecodePicture(absl::Span<const uint8_t> bytes) {
  return IsJpeg(bytes) ? DecodeJpeg(bytes) : DecodePng(bytes);
}

}  // namespace tartan::data
