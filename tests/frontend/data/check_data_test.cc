// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/check_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontend/data/convert.h"
#include "frontend/data/open_dataset.h"
#include "tests/frontend/data/data_files.h"

namespace tartan::data {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const Dataset> SetOf(const HostTensor& tensor) {
  const auto dataset = DatasetOf("set", {{"x", tensor}});
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return *dataset;
}

std::string MessageOf(const HostTensor& tensor, const CheckOptions& options = {}) {
  const absl::Status status = CheckData(*SetOf(tensor), options);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

HostTensor Floats(DataType type, std::vector<int64_t> dims, const std::vector<double>& values) {
  const HostTensor doubles = Tensor<double>(DataType::kFloat64, dims, values);
  const TensorShape shape{type, dims};
  std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
  EXPECT_EQ(Convert(DataType::kFloat64, doubles.bytes(), 1, type, absl::MakeSpan(bytes)),
            std::nullopt);
  return HostTensor(shape, bytes);
}

TEST(CheckData, FindsNothingWhereNothingIs) {
  const double max = std::numeric_limits<float>::max();
  EXPECT_EQ(MessageOf(Floats(DataType::kFloat32, {3}, {max, -max, 0})), "");
  EXPECT_EQ(MessageOf(Floats(DataType::kFloat16, {2}, {65504, -65504})), "");
  EXPECT_EQ(MessageOf(Tensor<int32_t>(DataType::kInt32, {2}, {-1, 0x7fffffff})), "");
  EXPECT_EQ(MessageOf(Floats(DataType::kFloat32, {2, 0}, {})), "");
}

TEST(CheckData, NamesNaNAndInfinityInEveryFloatType) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const DataType type :
       {DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32, DataType::kFloat64}) {
    EXPECT_EQ(MessageOf(Floats(type, {2, 3}, {0, 1, 2, 3, std::nan(""), 5})),
              "set: column \"x\", example 1, element [1]: nan is not a finite number");
    EXPECT_EQ(MessageOf(Floats(type, {3}, {0, -inf, 1})),
              "set: column \"x\", example 1: -inf is not a finite number");
  }
}

TEST(CheckData, FindsTheLastValueOfManyChunks) {
  std::vector<double> values(3 << 20, 1);
  values.back() = std::nan("");
  EXPECT_EQ(MessageOf(Floats(DataType::kFloat32, {3 << 18, 4}, values)),
            "set: column \"x\", example 786431, element [3]: nan is not a finite number");
}

TEST(CheckData, NamesLabelsOutOfRange) {
  const auto labels = Tensor<int64_t>(DataType::kInt64, {2, 2}, {0, 9, -100, 10});
  EXPECT_EQ(MessageOf(labels, {.labels = {{"x", 10}}}),
            "set: column \"x\", example 1, element [0]: label -100 is not in [0, 10)");
  EXPECT_EQ(MessageOf(labels, {.labels = {{"x", 10, -100}}}),
            "set: column \"x\", example 1, element [1]: label 10 is not in [0, 10), and is not the "
            "ignored label -100");
  EXPECT_EQ(MessageOf(labels, {.labels = {{"x", 11, -100}}}), "");
  const auto bytes = Tensor<uint8_t>(DataType::kUInt8, {2}, {1, 255});
  EXPECT_EQ(MessageOf(bytes, {.labels = {{"x", 10}}}),
            "set: column \"x\", example 1: label 255 is not in [0, 10)");
}

TEST(CheckData, TakesIntegralFloatsAsLabels) {
  const auto check = [](double value) {
    return MessageOf(Floats(DataType::kFloat32, {1}, {value}), {.labels = {{"x", 10}}});
  };
  EXPECT_EQ(check(9), "");
  EXPECT_EQ(check(2.5), "set: column \"x\", example 0: label 2.5 is not in [0, 10)");
}

TEST(CheckData, LooksAtTheColumnsThatAreAskedFor) {
  const auto dataset = DatasetOf("set", {{"x", Floats(DataType::kFloat32, {1}, {1})},
                                         {"y", Floats(DataType::kFloat32, {1}, {std::nan("")})}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_TRUE(CheckData(**dataset, {.columns = {"x"}}).ok());
  EXPECT_FALSE(CheckData(**dataset, {.columns = {"y"}}).ok());
  EXPECT_FALSE(CheckData(**dataset).ok());
  EXPECT_EQ(CheckData(**dataset, {.columns = {"z"}}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(CheckData(**dataset, {.labels = {{"z", 3}}}).code(), absl::StatusCode::kNotFound);
}

TEST(CheckData, ComparesChecksums) {
  const TestFolder folder;
  std::string archive = Zip({{"x.npy", Npy(Tensor<uint8_t>(DataType::kUInt8, {1}, {5}))}});
  archive[archive.find("\n\x05") + 1] = '\x06';
  const auto dataset = OpenDataset(folder.Write("a.npz", archive));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(std::string(CheckData(**dataset).message()), HasSubstr("checksum"));
}

}  // namespace
}  // namespace tartan::data
