// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/jpeg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <jpeglib.h>
#include <png.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "frontend/data/picture_file.h"
#include "frontend/data/picture_folder.h"
#include "tests/frontend/data/data_files.h"

namespace tartan::data {
namespace {

using ::testing::HasSubstr;

// A JPEG file of the best quality, without subsampled colours.
std::string EncodeJpeg(int width, int height, int channels, std::vector<uint8_t> samples,
                       bool is_progressive = false) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): the library's type
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  for (int c = 0; c < info.num_components; ++c)
    info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
  if (is_progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = &samples[static_cast<size_t>(y * width * channels)];
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::string file(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return file;
}

std::vector<uint8_t> Gradient(int width, int height, int channels) {
  std::vector<uint8_t> samples;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c)
        samples.push_back(static_cast<uint8_t>((11 * x + 7 * y * (c + 1) + 60 * c) % 200));
    }
  }
  return samples;
}

TEST(Jpeg, DecodesTheSamplesThatWereEncoded) {
  for (const int channels : {1, 3}) {
    for (const bool is_progressive : {false, true}) {
      const std::vector<uint8_t> samples = Gradient(17, 5, channels);
      const std::string file = EncodeJpeg(17, 5, channels, samples, is_progressive);
      const auto header = ReadPictureHeader(BytesOf(file));
      ASSERT_TRUE(header.ok()) << header.status();
      EXPECT_EQ(header->width, 17);
      EXPECT_EQ(header->height, 5);
      EXPECT_EQ(header->channels, channels);
      const auto picture = DecodePicture(BytesOf(file));
      ASSERT_TRUE(picture.ok()) << picture.status();
      ASSERT_EQ(picture->values.size(), samples.size());
      for (size_t i = 0; i < samples.size(); ++i)
        EXPECT_NEAR(picture->values[i] * 255, samples[i], 4) << i;
    }
  }
}

// Cut anywhere, the file is an error, and not a picture whose rest is gray.
TEST(Jpeg, RefusesATruncatedFile) {
  const std::string whole = EncodeJpeg(16, 16, 3, Gradient(16, 16, 3));
  for (size_t length = 0; length + 2 < whole.size(); ++length)
    EXPECT_FALSE(DecodeJpeg(BytesOf(whole).subspan(0, length)).ok()) << length;
  EXPECT_THAT(std::string(DecodeJpeg(BytesOf("no picture")).status().message()),
              HasSubstr("not a JPEG picture, or a damaged one"));
}

TEST(Jpeg, SurvivesDamageAnywhere) {
  const std::string whole = EncodeJpeg(16, 16, 3, Gradient(16, 16, 3), true);
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char change : {'\1', '\x80', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      DecodeJpeg(BytesOf(damaged)).status().IgnoreError();
      ReadJpegHeader(BytesOf(damaged)).status().IgnoreError();
    }
  }
}

TEST(Jpeg, RefusesColoursThatItCannotConvert) {
  const std::string file = EncodeJpeg(8, 8, 4, Gradient(8, 8, 4));
  EXPECT_EQ(DecodeJpeg(BytesOf(file)).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(Jpeg, AFolderMayHaveBothFormats) {
  const TestFolder folder;
  folder.Write("cat/1.JPG", EncodeJpeg(2, 1, 1, {200, 200}));
  folder.Write("cat/2.png", EncodePng(2, 1, PNG_FORMAT_GRAY, std::vector<uint8_t>{0, 51}.data()));
  folder.Write("dog/3.jpeg", EncodeJpeg(2, 1, 1, {40, 40}));
  const auto dataset = OpenPictureFolder(folder.Path(""));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->columns()[0].example, (TensorShape{DataType::kFloat32, {1, 1, 2}}));
  EXPECT_THAT(Rows(**dataset, "y", {0, 1, 2}), testing::ElementsAre(0, 0, 1));
  const std::vector<double> x = Rows(**dataset, "x", {0, 1, 2});
  EXPECT_NEAR(x[0], 200 / 255.0, 2 / 255.0);
  EXPECT_NEAR(x[3], 0.2, 1e-6);
  EXPECT_NEAR(x[4], 40 / 255.0, 2 / 255.0);
}

}  // namespace
}  // namespace tartan::data
