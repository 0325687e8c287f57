// SPDX-License-Identifier: Apache-2.0
// Tests of ImageDecoder beyond the official cases: damaged and malicious files.
#include <cstdint>
#include <string>
#include <vector>

#include "frontend/onnx/families/onnx/image_decoder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_results.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx::images_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Pixels red, green, blue in the first row; white, black, (10, 20, 30) in the second.
const char kSixPixels[] = "P3\n3 2\n255\n255 0 0  0 255 0  0 0 255\n255 255 255  0 0 0  10 20 30\n";

HostTensor File(const std::string& bytes) {
  return HostTensor::FromVector({DataType::kUInt8, {static_cast<int64_t>(bytes.size())}},
                                std::vector<uint8_t>(bytes.begin(), bytes.end()));
}

OperatorCall Decode(const std::string& bytes, const std::string& format = "RGB") {
  return {"ImageDecoder", 20, {File(bytes)}, Attribute("pixel_format", format)};
}

std::string BigEndian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string PngHeader(uint32_t width, uint32_t height) {
  return "\x89PNG\r\n\x1a\n" + BigEndian(13) + "IHDR" + BigEndian(width) + BigEndian(height) +
         std::string("\x08\x02\0\0\0", 5) + std::string(64, '\0');
}

// A file of 16 x 16 pixels whose code stream declares another size.
std::string Jpeg2000(uint32_t width, uint32_t height) {
  std::string file = std::string("\0\0\0\x0cjP  \r\n\x87\n", 12) + BigEndian(20) + "ftypjp2 " +
                     BigEndian(0) + "jp2 " + BigEndian(45) + "jp2h" + BigEndian(22) + "ihdr" +
                     BigEndian(16) + BigEndian(16) + std::string("\0\x03\x07\x07\0\0", 6) +
                     BigEndian(15) + "colr" + std::string("\x01\0\0", 3) + BigEndian(16) +
                     BigEndian(0) + "jp2c";
  file += std::string("\xff\x4f\xff\x51\0\x2f\0\0", 8) + BigEndian(width) + BigEndian(height);
  for (const uint32_t field : {0u, 0u, width, height, 0u, 0u}) file += BigEndian(field);
  return file + std::string("\0\x03\x07\x01\x01\x07\x01\x01\x07\x01\x01", 11) +
         std::string(64, '\0');
}

class ImageDecoder : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto picture = DecodePicture(File(kSixPixels).bytes());
    if (absl::IsUnimplemented(picture.status())) GTEST_SKIP() << picture.status();
  }
};

TEST_F(ImageDecoder, GivesRowsOfPixelsInTheChannelsAskedFor) {
  const HostTensor rgb = EvaluateTensor(Decode(kSixPixels));
  EXPECT_THAT(rgb.shape().dims, ElementsAre(2, 3, 3));
  EXPECT_THAT(rgb.ToInts(),
              ElementsAre(255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 10, 20, 30));
  EXPECT_THAT(EvaluateTensor(Decode(kSixPixels, "BGR")).ToInts(),
              ElementsAre(0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 0, 0, 0, 30, 20, 10));
  const HostTensor gray = EvaluateTensor(Decode(kSixPixels, "Grayscale"));
  EXPECT_THAT(gray.shape().dims, ElementsAre(2, 3, 1));
  // Gray is 0.299 R + 0.587 G + 0.114 B.
  EXPECT_THAT(gray.ToInts(), ElementsAre(76, 150, 29, 255, 0, 18));
}

TEST_F(ImageDecoder, SpreadsOneChannelOverThree) {
  EXPECT_THAT(EvaluateTensor(Decode("P2\n2 1\n255\n7 200\n")).ToInts(),
              ElementsAre(7, 7, 7, 200, 200, 200));
  // In bitmaps, 1 is black.
  EXPECT_THAT(EvaluateTensor(Decode("P1\n3 1\n1 0 1\n", "Grayscale")).ToInts(),
              ElementsAre(0, 255, 0));
}

TEST_F(ImageDecoder, GivesAnEmptyPictureForWhatIsNone) {
  for (const std::string& file :
       {std::string(), std::string("short"), std::string(100, 'x'), PngHeader(4, 4),
        std::string("P6\n4 4\n255\nfew"), Jpeg2000(16, 16),
        "\xff\xd8\xff\xe0" + std::string(60, 'j'), "BM" + std::string(60, '\x7f'),
        "RIFF" + BigEndian(0) + "WEBPVP8 " + std::string(60, 'w'), "II*" + std::string(60, '\0')}) {
    const HostTensor picture = EvaluateTensor(Decode(file));
    EXPECT_THAT(picture.shape().dims, ElementsAre(0, 0, 3)) << file;
  }
}

TEST_F(ImageDecoder, RefusesPicturesThatWouldFillTheMemory) {
  for (const std::string& file :
       {PngHeader(60000, 60000), std::string("P6\n50000 50000\n255\nfew pixels"),
        Jpeg2000(65536, 65536), Jpeg2000(0xffffffff, 1)}) {
    EXPECT_THAT(Error(Decode(file)), HasSubstr("at most 134217728 pixels")) << file;
  }
}

TEST(ImageDecoderNode, IsCheckedBeforeAnythingIsDecoded) {
  EXPECT_THAT(Error(Decode(kSixPixels, "CMYK")),
              HasSubstr("attribute 'pixel_format' is 'CMYK', not RGB, BGR or Grayscale"));
  EXPECT_THAT(Error({"ImageDecoder", 20, {Values({2, 2}, {1, 2, 3, 4}, DataType::kUInt8)}}),
              HasSubstr("expected the bytes of a file as uint8, got uint8[2, 2]"));
}

}  // namespace
}  // namespace tartan::onnx::images_test
