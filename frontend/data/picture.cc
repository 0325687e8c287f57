// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/picture.h"

#include <png.h>

#include <cmath>
#include <csetjmp>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::data {
namespace {

struct Source {
  absl::Span<const uint8_t> bytes;
  std::string error;
};

void ReadBytes(png_structp png, png_bytep to, size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (source->bytes.size() < count) png_error(png, "it is truncated");
  std::memcpy(to, source->bytes.data(), count);
  source->bytes.remove_prefix(count);
}

void OnError(png_structp png, png_const_charp message) {
  static_cast<Source*>(png_get_error_ptr(png))->error = message;
  longjmp(png_jmpbuf(png), 1);
}

void OnWarning(png_structp, png_const_charp) {}

// Owns libpng's state. libpng reports errors by longjmp to the last setjmp. Functions that call
// libpng must therefore have no objects with destructors in the code that the jump skips.
class Decoder {
 public:
  explicit Decoder(absl::Span<const uint8_t> bytes) : source_{bytes, ""} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source_, OnError, OnWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~Decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool ok() const { return info_ != nullptr; }
  const std::string& error() const { return source_.error; }
  int64_t height() const { return png_get_image_height(png_, info_); }
  int64_t width() const { return png_get_image_width(png_, info_); }
  int64_t channels() const { return png_get_channels(png_, info_); }
  int bit_depth() const { return png_get_bit_depth(png_, info_); }
  int64_t row_bytes() const { return static_cast<int64_t>(png_get_rowbytes(png_, info_)); }

  // Reads the header and requests gray or colour samples of 8 or 16 bits. With `is_mask`, samples
  // of less bits are not scaled, and indices of a palette stay.
  bool ReadHeader(bool is_mask = false) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_read_fn(png_, &source_, ReadBytes);
    png_read_info(png_, info_);
    is_mask ? png_set_packing(png_) : png_set_expand(png_);
    png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  bool ReadRows(uint8_t** rows) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

 private:
  Source source_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

// The axes of a picture tensor.
struct Layout {
  int height = 0;
  int width = 0;
  int channels = -1;  // -1: no such axis
};

// Returns true if the layout's sizes match the picture's or are open.
bool Fits(const Layout& layout, absl::Span<const int64_t> dims, const Picture& picture) {
  const auto fits = [&](int d, int64_t size) { return dims[d] < 0 || dims[d] == size; };
  return fits(layout.height, picture.height) && fits(layout.width, picture.width);
}

// If both channel orders are possible, returns the one whose sizes match the picture;
// channels-first has priority.
std::optional<Layout> LayoutOf(absl::Span<const int64_t> dims, const Picture& picture) {
  const int rank = static_cast<int>(dims.size());
  if (rank == 2) return Layout{0, 1, -1};
  if (rank != 3 && rank != 4) return std::nullopt;
  if (rank == 4 && dims[0] >= 0 && dims[0] != 1) return std::nullopt;
  std::optional<Layout> chosen;
  for (const Layout& layout :
       {Layout{rank - 2, rank - 1, rank - 3}, Layout{rank - 3, rank - 2, rank - 1}}) {
    const int64_t channels = dims[layout.channels];
    if (channels >= 0 && channels != 1 && channels != 3) continue;
    if (Fits(layout, dims, picture)) return layout;
    if (!chosen.has_value()) chosen = layout;
  }
  return chosen;
}

float Sample(const Picture& picture, int64_t pixel, int64_t channel, int64_t channels) {
  const float* value = &picture.values[pixel * picture.channels];
  if (picture.channels == 1) return value[0];
  if (channels == 1) return 0.299f * value[0] + 0.587f * value[1] + 0.114f * value[2];
  return value[channel];
}

absl::Status Damaged(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("not a PNG picture, or a damaged one: ", why));
}

// Reads the samples after the header.
absl::StatusOr<std::vector<uint8_t>> ReadSamples(Decoder& decoder) {
  if (decoder.height() > kMaxPicturePixels / decoder.width()) {
    return absl::ResourceExhaustedError(absl::StrCat("a picture of ", decoder.width(), " × ",
                                                     decoder.height(), " pixels is too large"));
  }
  std::vector<uint8_t> samples(decoder.row_bytes() * decoder.height());
  std::vector<uint8_t*> rows(decoder.height());
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = &samples[y * decoder.row_bytes()];
  if (!decoder.ReadRows(rows.data())) return Damaged(decoder.error());
  return samples;
}

}  // namespace

absl::StatusOr<PictureHeader> ReadPngHeader(absl::Span<const uint8_t> bytes) {
  Decoder decoder(bytes);
  if (!decoder.ok()) return absl::ResourceExhaustedError("out of memory in libpng");
  if (!decoder.ReadHeader()) return Damaged(decoder.error());
  return PictureHeader{decoder.height(), decoder.width(), decoder.channels(), decoder.bit_depth()};
}

absl::StatusOr<Picture> DecodePng(absl::Span<const uint8_t> bytes) {
  Decoder decoder(bytes);
  if (!decoder.ok()) return absl::ResourceExhaustedError("out of memory in libpng");
  if (!decoder.ReadHeader()) return Damaged(decoder.error());
  if (decoder.channels() != 1 && decoder.channels() != 3) {
    return Damaged(absl::StrCat(decoder.channels(), " channels"));
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<uint8_t> samples, ReadSamples(decoder));
  Picture picture{decoder.height(), decoder.width(), decoder.channels(), {}};
  picture.values.resize(picture.height * picture.width * picture.channels);
  for (size_t i = 0; i < picture.values.size(); ++i) {
    picture.values[i] = decoder.bit_depth() == 16
                            ? (samples[2 * i] * 256 + samples[2 * i + 1]) / 65535.0f
                            : samples[i] / 255.0f;
  }
  return picture;
}

absl::StatusOr<Mask> DecodeMask(absl::Span<const uint8_t> bytes) {
  Decoder decoder(bytes);
  if (!decoder.ok()) return absl::ResourceExhaustedError("out of memory in libpng");
  if (!decoder.ReadHeader(/*is_mask=*/true)) return Damaged(decoder.error());
  if (decoder.channels() != 1 || decoder.bit_depth() > 8) {
    return absl::InvalidArgumentError(
        absl::StrCat("a mask is gray or has a palette, with at most 8 bits; this one has ",
                     decoder.channels(), " channels of ", decoder.bit_depth(), " bits"));
  }
  TARTAN_ASSIGN_OR_RETURN(std::vector<uint8_t> samples, ReadSamples(decoder));
  return Mask{decoder.height(), decoder.width(), std::move(samples)};
}

std::vector<uint8_t> PictureBytes(const Picture& picture, DataType type, int64_t channels,
                                  bool channels_last) {
  const int64_t pixels = picture.height * picture.width;
  std::vector<uint8_t> bytes(pixels * channels * ByteWidth(type));
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (int64_t c = 0; c < channels; ++c) {
      double value = Sample(picture, pixel, c, channels);
      if (type == DataType::kUInt8) value = std::round(value * 255);
      StoreElement(type, value, channels_last ? pixel * channels + c : c * pixels + pixel,
                   bytes.data());
    }
  }
  return bytes;
}

absl::StatusOr<HostTensor> PictureToTensor(const Picture& picture, DataType type,
                                           absl::Span<const int64_t> dims) {
  if (!IsFloat(type) && type != DataType::kUInt8) {
    return absl::InvalidArgumentError(
        absl::StrCat("a picture needs a float or uint8 input, but this input is ", Name(type)));
  }
  const std::optional<Layout> layout = LayoutOf(dims, picture);
  if (!layout.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("a picture does not fit an input of shape ",
                                                   DimsToString(dims),
                                                   ": no dimension can be the 1 or 3 channels"));
  }
  TensorShape shape{type, {dims.begin(), dims.end()}};
  for (int64_t& dim : shape.dims) {
    if (dim < 0) dim = 1;
  }
  const auto settle = [&](int dim, int64_t size) {
    if (dims[dim] < 0) shape.dims[dim] = size;
    return shape.dims[dim] == size;
  };
  const bool height_fits = settle(layout->height, picture.height);
  if (!settle(layout->width, picture.width) || !height_fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the picture has ", picture.width, " × ", picture.height, " pixels, but the model takes ",
        shape.dims[layout->width], " × ", shape.dims[layout->height]));
  }
  if (layout->channels >= 0 && dims[layout->channels] < 0) {
    shape.dims[layout->channels] = picture.channels;
  }
  const int64_t channels = layout->channels < 0 ? 1 : shape.dims[layout->channels];
  const bool channels_last = layout->channels > layout->width;
  return HostTensor(std::move(shape), PictureBytes(picture, type, channels, channels_last));
}

}  // namespace tartan::data
