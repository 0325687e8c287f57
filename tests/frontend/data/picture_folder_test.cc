// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/picture_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "frontend/data/picture.h"
#include "tests/frontend/data/data_files.h"

namespace tartan::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A picture 2 pixels wide and 1 high.
std::string Gray(uint8_t left, uint8_t right) {
  const uint8_t samples[] = {left, right};
  return EncodePng(2, 1, PNG_FORMAT_GRAY, samples);
}

std::string Color(std::vector<uint8_t> samples) {
  return EncodePng(2, 1, PNG_FORMAT_RGB, samples.data());
}

std::string MessageOf(const TestFolder& folder) {
  return std::string(OpenPictureFolder(folder.Path("")).status().message());
}

TEST(PictureFolder, NumbersTheSubfoldersByName) {
  const TestFolder folder;
  folder.Write("dog/b.png", Gray(0, 51));
  folder.Write("dog/a.PNG", Gray(102, 255));
  folder.Write("cat/z.png", Gray(51, 0));
  folder.Write("empty/.hidden", "");
  folder.Write("readme.txt", "what is beside the subfolders is no matter");
  folder.Write(".git/x.txt", "");
  const auto dataset = OpenPictureFolder(folder.Path(""));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->size(), 3);
  EXPECT_EQ((*dataset)->columns()[0].example, (TensorShape{DataType::kFloat32, {1, 1, 2}}));
  EXPECT_EQ((*dataset)->columns()[1].example, (TensorShape{DataType::kInt64, {}}));
  EXPECT_THAT((*dataset)->columns()[1].classes, ElementsAre("cat", "dog", "empty"));
  EXPECT_THAT(Rows(**dataset, "y", {0, 1, 2}), ElementsAre(0, 1, 1));
  // The first read decodes the picture, the second uses the cached pixels.
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Rows(**dataset, "x", {2, 0, 1}), ElementsAre(0, 0.2f, 0.2f, 0, 0.4f, 1));
  }
}

TEST(PictureFolder, GivesGrayAsColourWhereAnyHasColour) {
  const TestFolder folder;
  folder.Write("a/1.png", Gray(0, 255));
  folder.Write("a/2.png", Color({255, 0, 0, 0, 255, 0}));
  const auto first = OpenPictureFolder(folder.Path(""));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(Rows(**first, "x", {0, 1}), ElementsAre(0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0));
  const auto last = OpenPictureFolder(folder.Path(""), {.channels_last = true});
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_THAT((*last)->columns()[0].example.dims, ElementsAre(1, 2, 3));
  EXPECT_THAT(Rows(**last, "x", {0, 1}), ElementsAre(0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0));
}

TEST(PictureFolder, KeepsPicturesOf16BitsExact) {
  const TestFolder folder;
  const uint16_t samples[] = {257, 65535};
  folder.Write("a/1.png", EncodePng(2, 1, PNG_FORMAT_LINEAR_Y, samples));
  folder.Write("a/2.png", Gray(51, 255));
  const auto dataset = OpenPictureFolder(folder.Path(""));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Rows(**dataset, "x", {0, 1}), ElementsAre(257 / 65535.0f, 1, 0.2f, 1));
  }
}

TEST(PictureFolder, KeepsNoMoreInMemoryThanAllowed) {
  const TestFolder folder;
  folder.Write("a/1.png", Gray(51, 255));
  const std::string second = folder.Write("a/2.png", Gray(0, 255));
  const auto dataset = OpenPictureFolder(folder.Path(""), {.cache_bytes = 3});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(Rows(**dataset, "x", {0, 1}), ElementsAre(0.2f, 1, 0, 1));
  std::filesystem::remove_all(folder.Path("a"));
  EXPECT_THAT(Rows(**dataset, "x", {0}), ElementsAre(0.2f, 1));
  std::vector<uint8_t> out(8);
  const absl::Status status = (*dataset)->Read(0, {1}, absl::MakeSpan(out));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a/2.png: No such file"));
}

TEST(PictureFolder, IsReadByManyThreads) {
  const TestFolder folder;
  std::vector<double> expected;
  std::vector<int64_t> rows;
  for (int i = 0; i < 50; ++i) {
    folder.Write(absl::StrCat("a/", 10 + i, ".png"), Gray(static_cast<uint8_t>(i), 255));
    rows.push_back(i);
    expected.push_back(static_cast<float>(i / 255.0f));
    expected.push_back(1);
  }
  const auto dataset = OpenPictureFolder(folder.Path(""));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) EXPECT_EQ(Rows(**dataset, "x", rows), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(PictureFolder, NamesPicturesOfDifferingSizes) {
  const TestFolder folder;
  folder.Write("a/1.png", Gray(0, 0));
  const uint8_t samples[12] = {};
  folder.Write("b/2.png", EncodePng(4, 3, PNG_FORMAT_GRAY, samples));
  EXPECT_THAT(MessageOf(folder),
              AllOf(HasSubstr("b/2.png: has 4 × 3 pixels"), HasSubstr("a/1.png has 2 × 1")));
}

TEST(PictureFolder, NamesWhatIsNoPicture) {
  const TestFolder none;
  EXPECT_THAT(MessageOf(none), HasSubstr("has no subfolders; expected one per class"));
  none.Write("a/.hidden", "");
  EXPECT_THAT(MessageOf(none), HasSubstr("has no pictures"));
  const TestFolder other;
  other.Write("a/1.gif", "");
  EXPECT_THAT(MessageOf(other), HasSubstr("a/1.gif: is not a .png or .jpg picture"));
  const TestFolder damaged;
  damaged.Write("a/1.png", "GIF89a");
  EXPECT_THAT(MessageOf(damaged), HasSubstr("a/1.png: not a PNG picture, or a damaged one"));
  const TestFolder flat;
  flat.Write("1.png", Gray(0, 0));
  EXPECT_THAT(MessageOf(flat), HasSubstr("1.png: is not in a subfolder"));
}

TEST(PictureFolder, NamesThePictureThatIsDamagedOrChanged) {
  const TestFolder folder;
  const std::string whole = Gray(0, 255);
  folder.Write("a/1.png", whole.substr(0, whole.size() - 20));
  folder.Write("a/2.png", whole);
  const auto dataset = OpenPictureFolder(folder.Path(""));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  std::vector<uint8_t> out(8);
  EXPECT_THAT(std::string((*dataset)->Read(0, {0}, absl::MakeSpan(out)).message()),
              HasSubstr("a/1.png: not a PNG picture, or a damaged one"));
  const uint8_t samples[12] = {};
  folder.Write("a/2.png", EncodePng(4, 3, PNG_FORMAT_GRAY, samples));
  EXPECT_THAT(std::string((*dataset)->Read(0, {1}, absl::MakeSpan(out)).message()),
              HasSubstr("a/2.png: has changed since it was opened"));
}

// A mask 2 pixels wide and 1 high, by libpng's other interface: `bits` per sample, or a palette.
std::string MaskFile(int bits, bool has_palette, std::vector<uint8_t> rows) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp p, png_bytep bytes, size_t count) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char*>(bytes), count);
      },
      nullptr);
  png_set_IHDR(png, info, 2, 1, bits, has_palette ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_GRAY,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const png_color palette[] = {{0, 0, 0}, {128, 0, 0}, {0, 128, 0}, {7, 7, 7}};
  if (has_palette) png_set_PLTE(png, info, palette, 4);
  png_write_info(png, info);
  png_write_row(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

// Samples are classes as they are: not divided by 255, not scaled to 8 bits, and not the colours of
// a palette.
TEST(PictureFolder, ReadsMasksOfTheSameNames) {
  const TestFolder folder;
  folder.Write("images/b.png", Gray(0, 51));
  folder.Write("images/a.png", Color({255, 0, 0, 0, 255, 0}));
  folder.Write("images/c.png", Gray(1, 2));
  folder.Write("masks/a.png", Gray(3, 255));
  folder.Write("masks/b.PNG", MaskFile(2, true, {0b10110000}));
  folder.Write("masks/c.png", MaskFile(1, false, {0b01000000}));
  const auto dataset = OpenPictureFolder(folder.Path(""));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->columns()[0].example, (TensorShape{DataType::kFloat32, {3, 1, 2}}));
  EXPECT_EQ((*dataset)->columns()[1].example, (TensorShape{DataType::kInt64, {1, 2}}));
  // The second read uses the cache.
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(Rows(**dataset, "y", {0, 1, 2}), ElementsAre(3, 255, 2, 3, 0, 1));
  EXPECT_THAT(Rows(**dataset, "x", {1}), ElementsAre(0, 0.2f, 0, 0.2f, 0, 0.2f));
}

TEST(PictureFolder, MapsTheSamplesOfMasksToClasses) {
  const TestFolder folder;
  folder.Write("images/a.png", Gray(0, 51));
  folder.Write("masks/a.png", Gray(255, 0));
  const auto dataset = OpenPictureFolder(folder.Path(""), {.mask_values = {0, 255}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(Rows(**dataset, "y", {0}), ElementsAre(1, 0));
  const auto other = OpenPictureFolder(folder.Path(""), {.mask_values = {0, 1}});
  ASSERT_TRUE(other.ok()) << other.status();
  std::vector<int64_t> row(2);
  const std::vector<int64_t> rows = {0};
  EXPECT_THAT(
      std::string((*other)
                      ->Read(1, rows, absl::MakeSpan(reinterpret_cast<uint8_t*>(row.data()), 16))
                      .message()),
      HasSubstr("masks/a.png: has the sample 255, which is no mask value"));
}

TEST(PictureFolder, NamesPicturesAndMasksThatDoNotFit) {
  const uint8_t samples[12] = {};
  const TestFolder missing;
  missing.Write("images/a.png", Gray(0, 0));
  missing.Write("images/b.png", Gray(0, 0));
  missing.Write("masks/a.png", Gray(0, 0));
  EXPECT_THAT(MessageOf(missing), HasSubstr("images/b.png: has no mask"));
  missing.Write("masks/b.png", Gray(0, 0));
  missing.Write("masks/c.png", Gray(0, 0));
  EXPECT_THAT(MessageOf(missing), HasSubstr("masks/c.png: is a mask without a picture"));
  const TestFolder sizes;
  sizes.Write("images/a.png", Gray(0, 0));
  sizes.Write("masks/a.png", EncodePng(4, 3, PNG_FORMAT_GRAY, samples));
  EXPECT_THAT(MessageOf(sizes), HasSubstr("masks/a.png: has 4 × 3 pixels, but"));
  EXPECT_THAT(
      std::string(DecodeMask(BytesOf(EncodePng(2, 1, PNG_FORMAT_RGB, samples))).status().message()),
      HasSubstr("3 channels of 8 bits"));
  // A third subfolder makes all of them classes.
  sizes.Write("masks/a.png", Gray(0, 0));
  sizes.Write("others/a.png", Gray(0, 0));
  const auto classes = OpenPictureFolder(sizes.Path(""));
  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_THAT((*classes)->columns()[1].classes, ElementsAre("images", "masks", "others"));
}

}  // namespace
}  // namespace tartan::data
