// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontend/data/data_files.h"

namespace tartan::data::dataset_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostTensor Counted(std::vector<int64_t> dims) {
  std::vector<float> values(
      static_cast<size_t>(TensorShape{DataType::kFloat32, dims}.element_count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return Tensor<float>(DataType::kFloat32, dims, values);
}

std::string MessageOf(std::vector<NamedTensor> columns) {
  return std::string(DatasetOf("set", std::move(columns)).status().message());
}

TEST(Dataset, GathersRowsInTheOrderAskedFor) {
  const auto dataset = DatasetOf("set", {{"x", Counted({4, 2})}, {"y", Counted({4})}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->size(), 4);
  EXPECT_THAT((*dataset)->columns()[0].example.dims, ElementsAre(2));
  EXPECT_THAT((*dataset)->columns()[1].example.dims, ElementsAre());
  EXPECT_THAT(Rows(**dataset, "x", {3, 0, 3}), ElementsAre(6, 7, 0, 1, 6, 7));
  EXPECT_THAT(Rows(**dataset, "y", {2, 1}), ElementsAre(2, 1));
  EXPECT_THAT(Rows(**dataset, "y", {}), ElementsAre());
}

TEST(Dataset, MayHaveEmptyExamples) {
  const auto dataset = DatasetOf("set", {{"x", Counted({4, 0})}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(Rows(**dataset, "x", {3, 0}), ElementsAre());
}

TEST(Dataset, NamesBothColumnsOfDifferingLengths) {
  EXPECT_THAT(MessageOf({{"x", Counted({4, 2})}, {"y", Counted({3})}}),
              HasSubstr("set: column \"x\" has 4 examples, but column \"y\" has 3"));
}

TEST(Dataset, RefusesWhatHasNoExamples) {
  EXPECT_THAT(MessageOf({}), HasSubstr("set: has no columns"));
  EXPECT_THAT(MessageOf({{"x", Counted({0, 2})}}), HasSubstr("set: has no examples"));
  EXPECT_THAT(MessageOf({{"x", Counted({})}}), HasSubstr("column \"x\" is a scalar"));
  EXPECT_THAT(MessageOf({{"x", Counted({2})}, {"x", Counted({2})}}),
              HasSubstr("two columns \"x\""));
}

TEST(Dataset, NamesColumnsAndRowsThatAreNotThere) {
  const auto dataset = DatasetOf("set", {{"x", Counted({4})}, {"y", Counted({4})}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto none = (*dataset)->Find("z");
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.status().message()),
              HasSubstr("has no column \"z\", but \"x\", \"y\""));
  std::vector<uint8_t> bytes(4);
  for (const int64_t row : {-1, 4}) {
    const absl::Status status = (*dataset)->Read(0, {row}, absl::MakeSpan(bytes));
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("example " + std::to_string(row) + " of 4 examples"));
  }
  EXPECT_EQ((*dataset)->Read(2, {0}, absl::MakeSpan(bytes)).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ((*dataset)->Read(0, {0, 1}, absl::MakeSpan(bytes)).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Dataset, TellsThePlaceOfAnElement) {
  const auto dataset = DatasetOf("set", {{"x", Counted({2, 2, 3})}, {"y", Counted({2})}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->Place(0, 1, 5), "set: column \"x\", example 1, element [1, 2]");
  EXPECT_EQ((*dataset)->Place(1, 1, 0), "set: column \"y\", example 1");
}

}  // namespace
}  // namespace tartan::data::dataset_test
