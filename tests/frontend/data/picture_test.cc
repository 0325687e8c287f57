// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <random>

#include "tests/frontend/data/data_files.h"

namespace tartan::data {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

// A picture 3 pixels wide and 2 high.
Picture Gray() { return {2, 3, 1, {0, 0.2f, 0.4f, 0.6f, 0.8f, 1}}; }
Picture Color() { return {1, 2, 3, {1, 0, 0, 0, 1, 0}}; }

std::string MessageOf(const Picture& picture, DataType type, std::vector<int64_t> dims) {
  return std::string(PictureToTensor(picture, type, dims).status().message());
}

TEST(DecodePng, ReadsGray) {
  const uint8_t samples[] = {0, 51, 255, 102};
  const auto picture = DecodePng(BytesOf(EncodePng(2, 2, PNG_FORMAT_GRAY, samples)));
  ASSERT_TRUE(picture.ok()) << picture.status();
  EXPECT_EQ(picture->channels, 1);
  EXPECT_THAT(picture->values, ElementsAre(0, FloatNear(0.2, 1e-6), 1, FloatNear(0.4, 1e-6)));
}

TEST(DecodePng, DropsTransparency) {
  const uint8_t samples[] = {255, 0, 51, 128, 0, 255, 0, 255};
  const auto picture = DecodePng(BytesOf(EncodePng(2, 1, PNG_FORMAT_RGBA, samples)));
  ASSERT_TRUE(picture.ok()) << picture.status();
  EXPECT_EQ(picture->channels, 3);
  EXPECT_THAT(picture->values, ElementsAre(1, 0, FloatNear(0.2, 1e-6), 0, 1, 0));
}

TEST(ReadPngHeader, TellsWhatDecodingGives) {
  const uint16_t deep[2 * 3 * 3] = {};
  const auto header = ReadPngHeader(BytesOf(EncodePng(2, 3, PNG_FORMAT_LINEAR_RGB, deep)));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->width, 2);
  EXPECT_EQ(header->height, 3);
  EXPECT_EQ(header->channels, 3);
  EXPECT_EQ(header->bit_depth, 16);
  EXPECT_FALSE(ReadPngHeader({}).ok());
}

TEST(PictureBytes, PutsChannelsWhereTheyAreAskedFor) {
  EXPECT_THAT(PictureBytes(Color(), DataType::kUInt8, 3, false), ElementsAre(255, 0, 0, 255, 0, 0));
  EXPECT_THAT(PictureBytes(Color(), DataType::kUInt8, 3, true), ElementsAre(255, 0, 0, 0, 255, 0));
}

TEST(DecodePng, SurvivesDamageAnywhere) {
  std::vector<uint8_t> samples(64 * 64 * 3, 90);
  const std::string whole = EncodePng(64, 64, PNG_FORMAT_RGB, samples.data());
  for (size_t length = 0; length + 12 < whole.size(); length += 3) {
    EXPECT_FALSE(DecodePng(BytesOf(whole).subspan(0, length)).ok()) << length;
  }
  std::mt19937 random(11);
  SCOPED_TRACE("seed 11");
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    damaged[8 + random() % (damaged.size() - 8)] = static_cast<char>(random());
    DecodePng(BytesOf(damaged)).status().IgnoreError();
  }
}

TEST(PictureToTensor, PutsChannelsWhereTheModelHasThem) {
  const auto first = PictureToTensor(Color(), DataType::kFloat32, {1, 3, 1, 2});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(first->ToDoubles(), ElementsAre(1, 0, 0, 1, 0, 0));
  const auto last = PictureToTensor(Color(), DataType::kFloat32, {1, 1, 2, 3});
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_THAT(last->ToDoubles(), ElementsAre(1, 0, 0, 0, 1, 0));
}

TEST(PictureToTensor, FillsOpenSizes) {
  const auto tensor = PictureToTensor(Gray(), DataType::kFloat32, {-1, 1, -1, -1});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->shape().dims, ElementsAre(1, 1, 2, 3));
  EXPECT_FLOAT_EQ(tensor->GetDouble(1), 0.2f);
}

TEST(PictureToTensor, RepeatsGrayAsColour) {
  const auto tensor = PictureToTensor(Gray(), DataType::kFloat32, {1, 2, 3, 3});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->GetDouble(3), tensor->GetDouble(5));
}

TEST(PictureToTensor, AveragesColourToGray) {
  const auto tensor = PictureToTensor(Color(), DataType::kFloat32, {1, 1, 1, 2});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_NEAR(tensor->GetDouble(0), 0.299, 1e-6);
  EXPECT_NEAR(tensor->GetDouble(1), 0.587, 1e-6);
}

TEST(PictureToTensor, GivesBytesToByteInputs) {
  const auto tensor = PictureToTensor(Gray(), DataType::kUInt8, {2, 3});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->ToInts(), ElementsAre(0, 51, 102, 153, 204, 255));
}

TEST(PictureToTensor, NamesBothSizesWhenTheyDiffer) {
  EXPECT_THAT(MessageOf(Gray(), DataType::kFloat32, {1, 1, 28, 14}),
              HasSubstr("3 × 2 pixels, but the model takes 14 × 28"));
}

TEST(PictureToTensor, RefusesInputsThatAreNoPictures) {
  EXPECT_THAT(MessageOf(Gray(), DataType::kInt64, {2, 3}), HasSubstr("is int64"));
  EXPECT_THAT(MessageOf(Gray(), DataType::kFloat32, {5}), HasSubstr("shape [5]"));
  EXPECT_THAT(MessageOf(Gray(), DataType::kFloat32, {8, 1, 2, 3}), HasSubstr("[8, 1, 2, 3]"));
}

}  // namespace
}  // namespace tartan::data
