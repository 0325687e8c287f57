// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/families/onnx/image_decoder.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// The used part of Leptonica's interface, which is stable since version 1.74.
struct Pix;
struct Leptonica {
  int (*find_format)(const uint8_t* data, int* format) = nullptr;  // reads 12 bytes
  int (*read_header)(const uint8_t* data, size_t size, int* format, int* width, int* height,
                     int* bits, int* samples, int* has_colormap) = nullptr;
  Pix* (*read)(const uint8_t* data, size_t size) = nullptr;
  Pix* (*convert_to_32)(Pix* pix) = nullptr;
  int (*get_dimensions)(const Pix* pix, int* width, int* height, int* depth) = nullptr;
  int (*get_words_per_line)(const Pix* pix) = nullptr;
  uint32_t* (*get_data)(Pix* pix) = nullptr;
  void (*destroy)(Pix** pix) = nullptr;
  int (*set_severity)(int severity) = nullptr;
  bool is_there = false;
};
constexpr int kSilent = 6;  // L_SEVERITY_NONE

// Leptonica's numbers of formats; the kinds of TIFF are between kTiff and kLastTiff.
enum Format : int {
  kBmp = 1,
  kJpeg = 2,
  kPng = 3,
  kTiff = 4,
  kLastTiff = 10,
  kPnm = 11,
  kJpeg2000 = 14,
  kWebp = 15,
  kTiffOfJpeg = 17,
};

bool IsStandard(int format) {
  return format == kBmp || format == kJpeg || format == kPng ||
         (format >= kTiff && format <= kLastTiff) || format == kPnm || format == kJpeg2000 ||
         format == kWebp || format == kTiffOfJpeg;
}

Leptonica OpenLeptonica() {
  Leptonica library;
  void* handle = nullptr;
  for (const char* name : {"liblept.so.5", "libleptonica.so.6"}) {
    if (handle == nullptr) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) return library;
  bool has_all = true;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(handle, name));
    has_all = has_all && *function != nullptr;
  };
  find("findFileFormatBuffer", &library.find_format);
  find("pixReadHeaderMem", &library.read_header);
  find("pixReadMem", &library.read);
  find("pixConvertTo32", &library.convert_to_32);
  find("pixGetDimensions", &library.get_dimensions);
  find("pixGetWpl", &library.get_words_per_line);
  find("pixGetData", &library.get_data);
  find("pixDestroy", &library.destroy);
  find("setMsgSeverity", &library.set_severity);
  library.is_there = has_all;
  if (has_all) library.set_severity(kSilent);
  return library;
}

const Leptonica& TheLeptonica() {
  static const Leptonica library = OpenLeptonica();
  return library;
}

struct Sizes {
  int64_t width = 0;
  int64_t height = 0;
  int64_t samples = 1;  // per pixel
};

absl::Status CheckSizes(const Sizes& sizes) {
  if (sizes.width <= kMaxPicturePixels && sizes.height <= kMaxPicturePixels &&
      sizes.width * sizes.height <= kMaxPicturePixels && sizes.samples <= 4) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "a picture of ", sizes.width, " x ", sizes.height, " pixels with ", sizes.samples,
      " samples is too large: at most ", kMaxPicturePixels, " pixels with 4 samples are decoded"));
}

int64_t BigEndian(absl::Span<const uint8_t> bytes, size_t at, size_t width) {
  int64_t value = 0;
  for (size_t i = 0; i < width; ++i) value = value * 256 + bytes[at + i];
  return value;
}

// Checks the sizes in each JPEG 2000 code stream, which the decoder uses. Leptonica reports only
// the sizes in the container.
absl::Status CheckStreamSizes(absl::Span<const uint8_t> file) {
  constexpr std::array<uint8_t, 4> kStart = {0xff, 0x4f, 0xff, 0x51};  // SOC, SIZ
  constexpr size_t kLength = 42;                                       // up to the samples
  auto at = file.begin();
  while (true) {
    at = std::search(at, file.end(), kStart.begin(), kStart.end());
    if (static_cast<size_t>(file.end() - at) < kLength) return absl::OkStatus();
    const size_t first = static_cast<size_t>(at - file.begin());
    const auto field = [&](size_t i) { return BigEndian(file, first + 8 + 4 * i, 4); };
    TARTAN_RETURN_IF_ERROR(
        CheckSizes({std::max<int64_t>(0, field(0) - field(2)),
                    std::max<int64_t>(0, field(1) - field(3)), BigEndian(file, first + 40, 2)}));
    ++at;
  }
}

Picture PixelsOf(const Leptonica& library, Pix* pix) {
  int width = 0;
  int height = 0;
  library.get_dimensions(pix, &width, &height, nullptr);
  Picture picture{height, width, {}};
  picture.rgb.resize(static_cast<size_t>(picture.height * picture.width * 3));
  const uint32_t* row = library.get_data(pix);
  uint8_t* to = picture.rgb.data();
  for (int64_t y = 0; y < picture.height; ++y, row += library.get_words_per_line(pix)) {
    for (int64_t x = 0; x < picture.width; ++x) {
      for (const int shift : {24, 16, 8}) *to++ = static_cast<uint8_t>(row[x] >> shift);
    }
  }
  return picture;
}

}  // namespace

absl::StatusOr<std::optional<Picture>> DecodePicture(absl::Span<const uint8_t> file) {
  const Leptonica& library = TheLeptonica();
  if (!library.is_there) {
    return absl::UnimplementedError(
        "decoding a picture needs the library Leptonica, which is not installed "
        "(on Debian or Ubuntu: apt-get install liblept5)");
  }
  constexpr size_t kLeast = 12;  // bytes that find_format reads
  int format = 0;
  if (file.size() < kLeast || library.find_format(file.data(), &format) != 0 ||
      !IsStandard(format)) {
    return std::nullopt;
  }
  // The header of a BMP cannot be read separately; it has at most as many pixels as the file has
  // bits.
  if (format != kBmp) {
    int width = 0;
    int height = 0;
    if (library.read_header(file.data(), file.size(), nullptr, &width, &height, nullptr, nullptr,
                            nullptr) != 0) {
      return std::nullopt;
    }
    TARTAN_RETURN_IF_ERROR(CheckSizes({width, height}));
  }
  if (format == kJpeg2000) TARTAN_RETURN_IF_ERROR(CheckStreamSizes(file));

  const auto destroy = [&](Pix* pix) { library.destroy(&pix); };
  using Owned = std::unique_ptr<Pix, decltype(destroy)>;
  const Owned pix(library.read(file.data(), file.size()), destroy);
  if (pix == nullptr) return std::nullopt;
  int depth = 0;
  library.get_dimensions(pix.get(), nullptr, nullptr, &depth);
  if (depth == 32) return PixelsOf(library, pix.get());
  const Owned whole(library.convert_to_32(pix.get()), destroy);
  if (whole == nullptr) return std::nullopt;
  return PixelsOf(library, whole.get());
}

}  // namespace tartan::onnx
