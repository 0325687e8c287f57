// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/jpeg.h"

#include <csetjmp>
#include <cstdio>
#include <string>
#include <vector>

// It needs the types of <cstdio>.
#include <jpeglib.h>

// Codes of warnings; it needs the header above.
#include <jerror.h>

#include "absl/strings/str_cat.h"

namespace tartan::data {
namespace {

// The error manager of one picture. The library reports errors by calling `error_exit`, which jumps
// to the last setjmp.
struct Errors : jpeg_error_mgr {
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = "";  // the first error or warning
};

void Note(j_common_ptr info) {
  auto* errors = static_cast<Errors*>(info->err);
  if (errors->message[0] == '\0') errors->format_message(info, errors->message);
}

void OnJpegError(j_common_ptr info) {
  Note(info);
  std::longjmp(static_cast<Errors*>(info->err)->jump, 1);
}

// A level of -1 is a warning of damaged data. Bytes between segments do not change the picture.
void OnJpegMessage(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code != JWRN_EXTRANEOUS_DATA) Note(info);
}

// Owns the library's state. The member functions that call the library have no objects with
// destructors, which a jump would skip.
class JpegDecoder {
 public:
  explicit JpegDecoder(absl::Span<const uint8_t> bytes) : bytes_(bytes) {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = OnJpegError;
    errors_.emit_message = OnJpegMessage;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  int64_t height() const { return info_.image_height; }
  int64_t width() const { return info_.image_width; }
  // Gray, or red, green and blue.
  int64_t channels() const { return info_.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3; }
  bool is_cmyk() const {
    return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
  }
  absl::Status Damaged() const {
    return absl::InvalidArgumentError(
        absl::StrCat("not a JPEG picture, or a damaged one: ", errors_.message));
  }

  bool ReadHeader() {
    if (setjmp(errors_.jump)) return false;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, bytes_.data(), bytes_.size());
    jpeg_read_header(&info_, TRUE);
    return errors_.message[0] == '\0';
  }

  // Reads all rows, height × width × channels.
  bool ReadRows(uint8_t* samples) {
    if (setjmp(errors_.jump)) return false;
    info_.out_color_space = channels() == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = samples + info_.output_scanline * width() * channels();
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return errors_.message[0] == '\0';
  }

 private:
  const absl::Span<const uint8_t> bytes_;
  Errors errors_;
  jpeg_decompress_struct info_ = {};
};

absl::Status CheckHeader(JpegDecoder& decoder) {
  if (!decoder.ReadHeader()) return decoder.Damaged();
  return decoder.is_cmyk() ? absl::UnimplementedError("a JPEG picture of CMYK colours")
                           : absl::OkStatus();
}

}  // namespace

absl::StatusOr<PictureHeader> ReadJpegHeader(absl::Span<const uint8_t> bytes) {
  JpegDecoder decoder(bytes);
  if (const absl::Status status = CheckHeader(decoder); !status.ok()) return status;
  return PictureHeader{decoder.height(), decoder.width(), decoder.channels(), 8};
}

absl::StatusOr<Picture> DecodeJpeg(absl::Span<const uint8_t> bytes) {
  JpegDecoder decoder(bytes);
  if (const absl::Status status = CheckHeader(decoder); !status.ok()) return status;
  if (decoder.height() > kMaxPicturePixels / decoder.width()) {
    return absl::ResourceExhaustedError(absl::StrCat("a picture of ", decoder.width(), " × ",
                                                     decoder.height(), " pixels is too large"));
  }
  Picture picture{decoder.height(), decoder.width(), decoder.channels(), {}};
  std::vector<uint8_t> samples(
      static_cast<size_t>(picture.height * picture.width * picture.channels));
  if (!decoder.ReadRows(samples.data())) return decoder.Damaged();
  picture.values.resize(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) picture.values[i] = samples[i] / 255.0f;
  return picture;
}

}  // namespace tartan::data
