// SPDX-License-Identifier: Apache-2.0
// Operators of encoded pictures.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/onnx/image_decoder.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

enum class PixelFormat : uint8_t { kRgb, kBgr, kGrayscale };

absl::StatusOr<PixelFormat> ReadFormat(const NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string name, context.String("pixel_format", "RGB"));
  if (name == "RGB") return PixelFormat::kRgb;
  if (name == "BGR") return PixelFormat::kBgr;
  if (name == "Grayscale") return PixelFormat::kGrayscale;
  return Invalid("attribute 'pixel_format' is '", name, "', not RGB, BGR or Grayscale");
}

// Luma as in ITU-R BT.601, in 16-bit fixed point, rounded half up.
std::vector<uint8_t> LumaOf(const Picture& picture) {
  constexpr std::array<uint32_t, 3> kWeights = {19595, 38470, 7471};
  std::vector<uint8_t> luma;
  luma.reserve(picture.rgb.size() / 3);
  for (size_t i = 0; i < picture.rgb.size(); i += 3) {
    uint32_t sum = 1u << 15;
    for (size_t c = 0; c < 3; ++c) sum += kWeights[c] * picture.rgb[i + c];
    luma.push_back(static_cast<uint8_t>(sum >> 16));
  }
  return luma;
}

// [height, width, channels]; [0, 0, channels] for data that cannot be decoded.
absl::StatusOr<HostTensor> Decode(const HostTensor& file, PixelFormat format) {
  TARTAN_ASSIGN_OR_RETURN(std::optional<Picture> picture, DecodePicture(file.bytes()));
  if (!picture.has_value()) picture.emplace();
  if (format == PixelFormat::kBgr) {
    for (size_t i = 0; i < picture->rgb.size(); i += 3) {
      std::swap(picture->rgb[i], picture->rgb[i + 2]);
    }
  }
  const bool is_gray = format == PixelFormat::kGrayscale;
  const TensorShape shape{DataType::kUInt8, {picture->height, picture->width, is_gray ? 1 : 3}};
  return HostTensor::FromVector(shape, is_gray ? LumaOf(*picture) : picture->rgb);
}

Outputs ImageDecoder(NodeContext& context) {
  const Tensor& file = context.input(0);
  if (file.type() != DataType::kUInt8 || file.rank() != 1) {
    return Invalid("operand 0: expected the bytes of a file as uint8, got ",
                   file.shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(const PixelFormat format, ReadFormat(context));
  return context.RunOnHost(
      {file},
      [format](absl::Span<const HostTensor> operands) -> absl::StatusOr<std::vector<HostTensor>> {
        TARTAN_ASSIGN_OR_RETURN(HostTensor picture, Decode(operands[0], format));
        return std::vector<HostTensor>{std::move(picture)};
      });
}

constexpr OperatorRow kOperators[] = {
    {"ImageDecoder", 20, {1, 1}, ImageDecoder},
};

}  // namespace

absl::Span<const OperatorRow> ImageOperators() { return kOperators; }

}  // namespace tartan::onnx
