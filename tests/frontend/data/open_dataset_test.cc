// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/open_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/frontend/data/data_files.h"

namespace tartan::data::open_dataset_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string MessageOf(const std::string& name) {
  return std::string(OpenDataset(name).status().message());
}

std::string Fixture(absl::string_view name) {
  const char* root = std::getenv("TARTAN_SOURCE_DIR");
  return absl::StrCat(root != nullptr ? root : ".", "/tests/frontend/data/numpy/", name);
}

HostTensor Ints(std::vector<int64_t> values) {
  return Tensor<int64_t>(DataType::kInt64, {static_cast<int64_t>(values.size())}, values);
}

// NumPy 2 wrote the files with savez and savez_compressed. They contain x = arange(24,
// float32).reshape(4, 2, 3), its copies as column-major int16 and big-endian float64, and y = int64
// [3, 1, 0, 2].
TEST(OpenDataset, ReadsWhatNumPyWrites) {
  for (const char* file : {"stored.npz", "deflated.npz"}) {
    const auto dataset = OpenDataset(Fixture(file));
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ((*dataset)->size(), 4);
    ASSERT_EQ((*dataset)->columns().size(), 4u);
    EXPECT_EQ((*dataset)->columns()[0].example, (TensorShape{DataType::kFloat32, {2, 3}}));
    EXPECT_EQ((*dataset)->columns()[1].example, (TensorShape{DataType::kInt16, {2, 3}}));
    EXPECT_EQ((*dataset)->columns()[2].example, (TensorShape{DataType::kFloat64, {2, 3}}));
    for (const char* column : {"x", "turned", "swapped"}) {
      EXPECT_THAT(Rows(**dataset, column, {2, 0}),
                  ElementsAre(12, 13, 14, 15, 16, 17, 0, 1, 2, 3, 4, 5));
    }
    EXPECT_THAT(Rows(**dataset, "y", {0, 1, 2, 3}), ElementsAre(3, 1, 0, 2));
    EXPECT_TRUE((*dataset)->Verify().ok());
  }
}

TEST(OpenDataset, ReadsOneArrayAsX) {
  const TestFolder folder;
  const auto dataset = OpenDataset(folder.Write("a.npy", Npy(Ints({5, 6, 7}))));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(Rows(**dataset, "x", {2, 0}), ElementsAre(7, 5));
}

TEST(OpenDataset, ReadsAListOfColumns) {
  const TestFolder folder;
  const std::string a = folder.Write("a.npy", Npy(Ints({5, 6})));
  const std::string b = folder.Write(
      "b.npz", Zip({{"long.npy", Npy(Ints({1, 2, 3}))}, {"y.npy", Npy(Ints({8, 9}))}}));
  const std::string c = folder.Write("c.npz", Zip({{"only.npy", Npy(Ints({3, 4}))}}));
  const auto dataset = OpenDataset(absl::StrCat("first=", a, ",second=", b, ":y,third=", c));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(Rows(**dataset, "first", {1}), ElementsAre(6));
  EXPECT_THAT(Rows(**dataset, "second", {1}), ElementsAre(9));
  EXPECT_THAT(Rows(**dataset, "third", {1}), ElementsAre(4));

  EXPECT_THAT(MessageOf(absl::StrCat("x=", a, ",y=", b, ":long")),
              HasSubstr("column \"x\" has 2 examples, but column \"y\" has 3"));
  EXPECT_THAT(MessageOf(absl::StrCat("x=", b, ":z")),
              HasSubstr("b.npz: has no array \"z\", but \"long\", \"y\""));
  EXPECT_THAT(MessageOf(absl::StrCat("x=", b)), HasSubstr("has 2 arrays; name one as"));
  EXPECT_THAT(MessageOf(absl::StrCat("x=", a, ",", a)),
              HasSubstr("is not of the form COLUMN=FILE"));
  EXPECT_THAT(MessageOf("x=picture.png"), HasSubstr("picture.png: is not of the form FILE.npy"));
}

TEST(OpenDataset, NamesTheFileAndTheMemberThatAreDamaged) {
  const TestFolder folder;
  const std::string array = Npy(Ints({1, 2, 3}));
  EXPECT_THAT(MessageOf(folder.Write("a.npy", array.substr(0, 140))),
              HasSubstr("a.npy: not a valid NumPy"));
  EXPECT_THAT(MessageOf(folder.Write("a.npz", Zip({{"x.npy", array.substr(0, 140)}}))),
              HasSubstr("a.npz: member \"x.npy\": not a valid NumPy array file"));
  EXPECT_THAT(MessageOf(folder.Write("b.npz", Zip({{"x.npy", array}, {"notes.txt", "hello"}}))),
              HasSubstr("b.npz: member \"notes.txt\" is not a .npy array"));
  const std::string whole = Zip({{"x.npy", array, true}});
  EXPECT_THAT(MessageOf(folder.Write("c.npz", whole.substr(0, whole.size() - 1))),
              HasSubstr("c.npz: not a zip archive, or a damaged one"));
  EXPECT_THAT(MessageOf(folder.Write("d.npz", Zip({}))), HasSubstr("d.npz: has no columns"));
  EXPECT_THAT(MessageOf(folder.Write("e.npy", "")),
              HasSubstr("e.npy: not a valid NumPy array file"));
}

TEST(OpenDataset, ReadsATableOfNumbers) {
  const TestFolder folder;
  const std::string path = folder.Write("a.CSV", "a,b,kind\n1,2,0\n3,4,1\n");
  const auto dataset = OpenDataset(path, {.csv = {.label = "a"}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(Rows(**dataset, "x", {1, 0}), ElementsAre(4, 1, 2, 0));
  EXPECT_THAT(Rows(**dataset, "y", {1, 0}), ElementsAre(3, 1));
  EXPECT_THAT(MessageOf(folder.Write("b.csv", "1,2\n3,x\n")),
              HasSubstr("b.csv: line 2, column 2: \"x\" is not a number"));
  EXPECT_THAT(MessageOf(folder.Write("c.csv", "")), HasSubstr("c.csv: has no examples"));
  EXPECT_THAT(MessageOf(folder.Write("d.csv", "a,b\n")), HasSubstr("d.csv: has no examples"));
}

TEST(OpenDataset, ReadsAFolderOfPictures) {
  const TestFolder folder;
  const uint8_t samples[] = {51, 255};
  folder.Write("set/cat/1.png", EncodePng(2, 1, PNG_FORMAT_GRAY, samples));
  const auto dataset = OpenDataset(folder.Path("set/"), {.pictures = {.channels_last = true}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT((*dataset)->columns()[0].example.dims, ElementsAre(1, 2, 1));
}

TEST(OpenDataset, FindsDamageOfStoredArraysWhenItVerifies) {
  const TestFolder folder;
  std::string archive = Zip({{"x.npy", Npy(Ints({1, 2, 3}))}, {"y.npy", Npy(Ints({4, 5, 6}))}});
  archive[archive.find('\x05', archive.find("y.npy"))] = '\x07';
  const std::string path = folder.Write("a.npz", archive);
  for (const std::string& name : {path, absl::StrCat("x=", path, ":y")}) {
    const auto dataset = OpenDataset(name);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_THAT(std::string((*dataset)->Verify().message()),
                HasSubstr("a.npz: member \"y.npy\" is damaged: its checksum"));
  }
}

TEST(OpenDataset, RefusesWhatItDoesNotKnow) {
  const TestFolder folder;
  EXPECT_THAT(MessageOf(folder.Write("a.txt", "1 2 3")), HasSubstr("a.txt: is not known data"));
  EXPECT_EQ(OpenDataset(folder.Path("none.npz")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(folder.Path("none.npz")), HasSubstr("none.npz: No such file"));
}

// The header of an array of bytes [rows, 4096].
std::string PageHeader(int64_t rows) {
  std::string header = Npy(Tensor<uint8_t>(DataType::kUInt8, {1234567, 0}, {}));
  const std::string dims = absl::StrCat(rows, ", 4096");
  // overwrites a space and the bracket, too
  header.replace(header.find("1234567, 0"), dims.size(), dims);
  header.replace(header.find(dims) + dims.size(), 4, "), }");
  return header;
}

// Writes zeros in the format of numpy.savez.
TEST(OpenDataset, ReadsArchivesBeyond4GiB) {
  const TestFolder folder;
  const int64_t rows = (int64_t{5} << 30) / 4096;
  const std::vector<uint8_t> labels(static_cast<size_t>(rows), 3);
  const std::string path =
      WriteZip(folder, "large.npz",
               {{"x.npy", PageHeader(rows) + std::string(1, '\7'), false, rows * 4096 - 1},
                {"y.npy", Npy(Tensor<uint8_t>(DataType::kUInt8, {rows}, labels))}});
  const auto dataset = OpenDataset(path);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->size(), rows);
  const std::vector<double> pages = Rows(**dataset, "x", {rows - 1, 0});
  EXPECT_EQ(pages[4095], 0);
  EXPECT_EQ(pages[4096], 7);
  EXPECT_THAT(Rows(**dataset, "y", {rows - 1, 0}), ElementsAre(3, 3));
}

}  // namespace
}  // namespace tartan::data::open_dataset_test
