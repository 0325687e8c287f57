// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/parallel/batch_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

namespace tartan::api {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorSpec Spec(const std::string& name, std::vector<int64_t> dims,
                std::vector<std::string> dim_names = {}) {
  TensorSpec spec;
  spec.name = name;
  spec.type = DataType::kFloat32;
  dim_names.resize(dims.size());
  spec.dims = std::move(dims);
  spec.dim_names = std::move(dim_names);
  return spec;
}

// A declaration without a graph.
class Declared : public Model {
 public:
  Declared(std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}
  const std::string& name() const override { return name_; }
  const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  const std::vector<TensorSpec>& outputs() const override { return outputs_; }
  absl::StatusOr<BoundGraph> Bind(absl::Span<const InputBinding>, Resolver*) const override {
    return absl::UnimplementedError("a declaration only");
  }

 private:
  const std::string name_ = "declared";
  const std::vector<TensorSpec> inputs_;
  const std::vector<TensorSpec> outputs_;
};

HostTensor Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kFloat32, std::move(dims)}, values);
}

BatchSplit SplitOf(const Model& model) {
  absl::StatusOr<BatchSplit> split = BatchSplit::Create(model);
  EXPECT_TRUE(split.ok()) << split.status();
  return *std::move(split);
}

const Declared& TwoInputs() {
  static const auto& model = *new Declared({Spec("x", {-1, 2}, {"N"}), Spec("table", {-1}, {"K"})},
                                           {Spec("y", {-1, 2}, {"N"})});
  return model;
}

TEST(BatchSplit, DividesRowsIntoPartsThatDifferByAtMostOne) {
  EXPECT_THAT(DivideRows(8, 2), ElementsAre(4, 4));
  EXPECT_THAT(DivideRows(8, 3), ElementsAre(3, 3, 2));
  EXPECT_THAT(DivideRows(7, 2), ElementsAre(4, 3));
  EXPECT_THAT(DivideRows(2, 4), ElementsAre(1, 1));
  EXPECT_THAT(DivideRows(1, 4), ElementsAre(1));
  EXPECT_THAT(DivideRows(0, 4), ElementsAre(0));
}

TEST(BatchSplit, SplitsInputsWithTheBatchDimensionAndKeepsOthersWhole) {
  const BatchSplit split = SplitOf(TwoInputs());
  const NamedValues inputs = {{"x", Floats({3, 2}, {1, 2, 3, 4, 5, 6})},
                              {"table", Floats({4}, {7, 8, 9, 10})}};
  ASSERT_EQ(split.CountRows(inputs).value_or(-1), 3);
  const std::vector<NamedValues> parts = split.Split(inputs, {2, 1});
  ASSERT_EQ(parts.size(), 2);
  EXPECT_THAT(parts[0].at("x").tensor().ToDoubles(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(parts[1].at("x").tensor().ToDoubles(), ElementsAre(5, 6));
  for (const NamedValues& part : parts) {
    EXPECT_THAT(part.at("table").tensor().ToDoubles(), ElementsAre(7, 8, 9, 10));
  }
}

TEST(BatchSplit, JoinsPartsInTheirOrder) {
  const BatchSplit split = SplitOf(TwoInputs());
  const auto joined =
      split.Join({{Floats({2, 2}, {1, 2, 3, 4})}, {Floats({1, 2}, {5, 6})}}, {2, 1});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(joined->at(0).tensor().shape().dims, ElementsAre(3, 2));
  EXPECT_THAT(joined->at(0).tensor().ToDoubles(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(BatchSplit, JoinsStringsOfDifferentWords) {
  const BatchSplit split = SplitOf(TwoInputs());
  const auto joined =
      split.Join({{HostStrings({1, 2}, {"b", "a"})}, {HostStrings({1, 2}, {"c", "a"})}}, {1, 1});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(StringsOf(joined->at(0)), ElementsAre("b", "a", "c", "a"));
  EXPECT_THAT(joined->at(0).tensor().shape().dims, ElementsAre(2, 2));
}

TEST(BatchSplit, RefusesAModelWhoseBatchIsFixed) {
  const auto split = BatchSplit::Create(Declared({Spec("x", {1, 3})}, {Spec("y", {1, 3})}));
  EXPECT_EQ(split.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(split.status().message(),
              AllOf(HasSubstr("has no batch axis"), HasSubstr("x: float32[1, 3]")));
}

TEST(BatchSplit, RefusesAnOutputWithoutBatchAxis) {
  const auto split = BatchSplit::Create(Declared({Spec("x", {-1, 3})}, {Spec("loss", {})}));
  EXPECT_EQ(split.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(split.status().message(), HasSubstr("output 'loss' has no batch axis"));
}

TEST(BatchSplit, RefusesInputsWithDifferentNumbersOfRows) {
  const Declared model({Spec("a", {-1}, {"N"}), Spec("b", {-1}, {"N"})}, {Spec("y", {-1})});
  const auto rows =
      SplitOf(model).CountRows({{"a", Floats({2}, {1, 2})}, {"b", Floats({3}, {1, 2, 3})}});
  EXPECT_EQ(rows.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(rows.status().message(),
              HasSubstr("input 'b' has 3 rows, but input 'a' has 2: a batch"));
}

TEST(BatchSplit, RefusesAnInputWithoutRowsAndAMissingOne) {
  const BatchSplit split = SplitOf(TwoInputs());
  EXPECT_THAT(split.CountRows({{"x", Floats({}, {1})}}).status().message(),
              HasSubstr("input 'x' is float32[], which has no batch axis"));
  EXPECT_THAT(split.CountRows({}).status().message(), HasSubstr("input 'x' is missing"));
}

TEST(BatchSplit, RefusesAnOutputThatDoesNotHaveTheRowsOfItsPart) {
  const BatchSplit split = SplitOf(TwoInputs());
  const auto joined = split.Join({{Floats({2, 1}, {1, 2})}, {Floats({2, 1}, {3, 4})}}, {2, 1});
  EXPECT_EQ(joined.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(joined.status().message(),
              HasSubstr("output 'y' is float32[2, 1] for a part of 1 rows"));
}

// A recurrent state has its batch in the middle.
TEST(BatchSplit, FindsTheBatchDimensionByItsName) {
  const Declared model({Spec("x", {-1, 1}, {"N"}), Spec("state", {2, -1, 2}, {"", "N", ""})},
                       {Spec("y", {-1}, {"other"}), Spec("next", {2, -1, 2}, {"", "N", ""})});
  const BatchSplit split = SplitOf(model);
  const HostTensor state = Floats({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const NamedValues inputs = {{"x", Floats({3, 1}, {1, 2, 3})}, {"state", state}};
  const std::vector<NamedValues> parts = split.Split(inputs, {2, 1});
  EXPECT_THAT(parts[0].at("state").tensor().ToDoubles(), ElementsAre(1, 2, 3, 4, 7, 8, 9, 10));
  EXPECT_THAT(parts[1].at("state").tensor().shape().dims, ElementsAre(2, 1, 2));
  EXPECT_THAT(parts[1].at("state").tensor().ToDoubles(), ElementsAre(5, 6, 11, 12));
  EXPECT_THAT(split.RepeatRow(inputs, 0).at("state").tensor().ToDoubles(),
              ElementsAre(1, 2, 1, 2, 1, 2, 7, 8, 7, 8, 7, 8));
  const auto joined = split.Join(
      {{Floats({2}, {1, 2}), parts[0].at("state")}, {Floats({1}, {3}), parts[1].at("state")}},
      {2, 1});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_THAT(joined->at(0).tensor().ToDoubles(), ElementsAre(1, 2, 3));
  EXPECT_EQ(joined->at(1).tensor().ToDoubles(), state.ToDoubles());
}

TEST(BatchSplit, RepeatsARow) {
  const NamedValues repeated =
      SplitOf(TwoInputs())
          .RepeatRow({{"x", Floats({2, 2}, {1, 2, 3, 4})}, {"table", Floats({1}, {7})}}, 1);
  EXPECT_THAT(repeated.at("x").tensor().ToDoubles(), ElementsAre(3, 4, 3, 4));
  EXPECT_THAT(repeated.at("table").tensor().ToDoubles(), ElementsAre(7));
}

TEST(BatchSplit, ComparesOneRowAndAllowsRounding) {
  const BatchSplit split = SplitOf(TwoInputs());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<HostValue> a = {Floats({2, 2}, {1000, nan, 1, 2})};
  const std::vector<HostValue> rounded = {Floats({2, 2}, {1000.001F, nan, 7, 9})};
  const std::vector<HostValue> other = {Floats({2, 2}, {1010, nan, 1, 2})};
  EXPECT_EQ(split.RowDifference(a, rounded, 0), "");
  EXPECT_EQ(split.RowDifference(a, other, 0), "y");
}

}  // namespace
}  // namespace tartan::api
