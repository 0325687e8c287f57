// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace tartan::data {
namespace {

using ::testing::HasSubstr;

absl::Span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// A version 1.0 file with this header dictionary and this element data.
std::string File(const std::string& dictionary, const std::string& data) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(dictionary.size() & 0xff);
  file += static_cast<char>(dictionary.size() >> 8);
  return file + dictionary + data;
}

std::string Dictionary(const std::string& descr, const std::string& order,
                       const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

TEST(Npy, ReadsBackWhatItWrites) {
  const HostTensor tensors[] = {
      HostTensor::FromVector<float>({DataType::kFloat32, {2, 3}}, {1, -2, 3.5, 0, 1e30f, -1e-30f}),
      HostTensor::FromVector<int64_t>({DataType::kInt64, {1}}, {INT64_MIN}),
      HostTensor::FromVector<uint8_t>({DataType::kBool, {3}}, {1, 0, 1}),
      HostTensor::FromVector<double>({DataType::kFloat64, {}}, {2.5}),
      HostTensor::FromVector<uint16_t>({DataType::kFloat16, {2, 0}}, {}),
  };
  for (const HostTensor& tensor : tensors) {
    const auto file = FormatNpy(tensor);
    ASSERT_TRUE(file.ok());
    const auto read = ParseNpy(Bytes(*file));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->shape(), tensor.shape());
    EXPECT_EQ(read->bytes(), tensor.bytes());
  }
}

TEST(Npy, BeginsTheElementsAtAMultipleOf64Bytes) {
  const auto file = FormatNpy(HostTensor::FromVector<float>({DataType::kFloat32, {1}}, {1}));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((file->size() - 4) % 64, 0u);
}

TEST(Npy, ReadsBigEndianElements) {
  const auto read =
      ParseNpy(Bytes(File(Dictionary(">i2", "False", "(2,)"), std::string("\x01\x02\xff\xff", 4))));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->ToInts(), ::testing::ElementsAre(0x0102, -1));
}

TEST(Npy, ReadsColumnMajorElements) {
  const auto read =
      ParseNpy(Bytes(File(Dictionary("|u1", "True", "(2, 3)"), std::string("\0\3\1\4\2\5", 6))));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->ToInts(), ::testing::ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Npy, RefusesWhatTheBytesDoNotBearOut) {
  const struct {
    std::string file;
    std::string message;
  } cases[] = {
      {"", "first bytes"},
      {"PK\x03\x04 a zip archive", "first bytes"},
      {std::string("\x93NUMPY\x01\x00\xff\xff{", 11), "truncated"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13), "truncated"},
      {std::string("\x93NUMPY\x09\x00\x00\x00", 10), "format version 9"},
      {File("{}", ""), "lacks descr"},
      {File(Dictionary("<f4", "False", "(4,)"), "12345678"), "8 bytes follow"},
      {File(Dictionary("<f4", "False", "(1000000000, 1000000000, 1000)"), ""), "0 bytes follow"},
      {File(Dictionary("<f4", "False", "(9223372036854775807, 9223372036854775807)"), "1234"),
       "4 bytes follow"},
      {File(Dictionary("<f4", "False", "(-1,)"), "1234"), "size '-1'"},
      {File(Dictionary("<f4", "False", "(4"), "1234"), "not a tuple"},
      {File(Dictionary("<f4", "Maybe", "(1,)"), "1234"), "neither True nor False"},
      {File(Dictionary("<c8", "False", "(1,)"), "12345678"), "'<c8' is not supported"},
      {File("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234"), "records"},
  };
  for (const auto& c : cases) {
    const auto read = ParseNpy(Bytes(c.file));
    ASSERT_FALSE(read.ok()) << c.message;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(c.message));
  }
}

TEST(Npy, SurvivesDamageAnywhere) {
  const std::string whole =
      *FormatNpy(HostTensor::FromVector<float>({DataType::kFloat32, {2, 2}}, {1, 2, 3, 4}));
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(ParseNpy(Bytes(whole.substr(0, length))).ok()) << length;
  }
  std::mt19937 random(7);
  SCOPED_TRACE("seed 7");
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (int n = 0; n < 3; ++n) damaged[random() % 80] = static_cast<char>(random());
    const auto read = ParseNpy(Bytes(damaged));
    if (!read.ok()) continue;
    EXPECT_EQ(read->shape().byte_size(), 16);
  }
}

TEST(Npy, WritesNoBFloat16) {
  const auto file = FormatNpy(HostTensor::Zeros({DataType::kBFloat16, {1}}));
  EXPECT_EQ(file.status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace tartan::data
