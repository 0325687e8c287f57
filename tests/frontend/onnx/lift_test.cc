// SPDX-License-Identifier: Apache-2.0
// Tests of old forms of operators on constants, whose results the importer computes.
#include "frontend/onnx/families/shared/lift.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/model/onnx_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::onnx::lift_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Floats(const std::string& name, const std::vector<int>& dims,
                   const std::vector<double>& values) {
  std::string text = absl::StrCat("initializer { name: '", name, "' data_type: 1 ");
  for (int dim : dims) absl::StrAppend(&text, "dims: ", dim, " ");
  for (double value : values) absl::StrAppend(&text, "float_data: ", value, " ");
  return text + "} ";
}

std::string Int(const std::string& name, int value) {
  return absl::StrCat("attribute { name: '", name, "' type: INT i: ", value, " } ");
}

std::string Ints(const std::string& name, const std::vector<int>& values) {
  return absl::StrCat("attribute { name: '", name, "' type: INTS ints: [",
                      absl::StrJoin(values, ", "), "] } ");
}

std::string Float(const std::string& name, double value) {
  return absl::StrCat("attribute { name: '", name, "' type: FLOAT f: ", value, " } ");
}

// The outputs y0, y1 … of one node.
absl::StatusOr<std::vector<HostTensor>> Apply(const std::string& op, int opset,
                                              const std::string& constants,
                                              const std::vector<std::string>& inputs,
                                              const std::string& attributes, int outputs = 1) {
  std::string text = absl::StrCat("graph { ", constants, "node { op_type: '", op, "' ", attributes);
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: '", input, "' ");
  for (int i = 0; i < outputs; ++i) absl::StrAppend(&text, "output: 'y", i, "' ");
  text += "} ";
  for (int i = 0; i < outputs; ++i) absl::StrAppend(&text, "output { name: 'y", i, "' } ");
  const std::string bytes = ModelBytes(text + "}", opset);
  const auto model =
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "model");
  if (!model.ok()) return model.status();
  const auto bound = (*model)->Bind({});
  if (!bound.ok()) return bound.status();
  std::vector<HostTensor> values;
  for (const api::Value& value : bound->outputs) {
    const api::Tensor& output = value.tensor();
    if (output.constant() == nullptr) return absl::InternalError("an output was not folded");
    values.push_back(*output.constant());
  }
  return values;
}

const std::string kMatrix = Floats("x", {2, 3}, {1, 2, 3, 4, 5, 6});

TEST(Lift, AlignsAnOperandWithTheAxisOfOldBroadcasts) {
  const std::string column = Floats("b", {2}, {10, 20});
  const auto sum =
      Apply("Add", 6, kMatrix + column, {"x", "b"}, Int("broadcast", 1) + Int("axis", 0));
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT((*sum)[0].ToDoubles(), ElementsAre(11, 12, 13, 24, 25, 26));
  const std::string row = Floats("b", {3}, {10, 20, 30});
  EXPECT_THAT((*Apply("Add", 6, kMatrix + row, {"x", "b"}, Int("broadcast", 1)))[0].ToDoubles(),
              ElementsAre(11, 22, 33, 14, 25, 36));
  EXPECT_THAT(Apply("Add", 6, kMatrix + row, {"x", "b"}, "").status().message(),
              HasSubstr("'broadcast' is 0"));
}

TEST(Lift, ReadsBoundsOfClipFromAttributes) {
  const auto y = Apply("Clip", 6, kMatrix, {"x"}, Float("min", 2) + Float("max", 4));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].ToDoubles(), ElementsAre(2, 2, 3, 4, 4, 4));
}

TEST(Lift, ReadsSlicesFromAttributes) {
  const auto y = Apply("Slice", 9, kMatrix, {"x"},
                       Ints("starts", {-2}) + Ints("ends", {100}) + Ints("axes", {1}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].shape().dims, ElementsAre(2, 2));
  EXPECT_THAT((*y)[0].ToDoubles(), ElementsAre(2, 3, 5, 6));
}

TEST(Lift, ReadsPadsFromAttributes) {
  const auto y = Apply("Pad", 2, kMatrix, {"x"}, Ints("pads", {0, 1, 0, -1}) + Float("value", 7));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].ToDoubles(), ElementsAre(7, 1, 2, 7, 4, 5));
}

TEST(Lift, ReadsPartsOfSplitFromAttributes) {
  const auto y = Apply("Split", 11, kMatrix, {"x"}, Int("axis", 1) + Ints("split", {1, 2}), 2);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].ToDoubles(), ElementsAre(1, 4));
  EXPECT_THAT((*y)[1].ToDoubles(), ElementsAre(2, 3, 5, 6));
}

TEST(Lift, ReadsAxesOfSqueezeAndUnsqueezeFromAttributes) {
  const auto wide = Apply("Unsqueeze", 11, kMatrix, {"x"}, Ints("axes", {0, 3}));
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_THAT((*wide)[0].shape().dims, ElementsAre(1, 2, 3, 1));
  const auto narrow =
      Apply("Squeeze", 11, Floats("x", {1, 2, 1}, {1, 2}), {"x"}, Ints("axes", {0}));
  EXPECT_THAT((*narrow)[0].shape().dims, ElementsAre(2, 1));
}

TEST(Lift, ReadsTheShapeOfReshapeFromAnAttribute) {
  const auto y = Apply("Reshape", 4, kMatrix, {"x"}, Ints("shape", {-1, 2}));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].shape().dims, ElementsAre(3, 2));
}

TEST(Lift, GivesEachChannelItsSlope) {
  const std::string x = Floats("x", {1, 2, 2}, {-1, -2, -3, 4});
  const auto y = Apply("PRelu", 6, x + Floats("slope", {2}, {2, 10}), {"x", "slope"}, "");
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].ToDoubles(), ElementsAre(-2, -4, -30, 4));
}

TEST(Lift, ReadsKOfTopKFromAnAttribute) {
  const auto y = Apply("TopK", 9, kMatrix, {"x"}, Int("k", 1) + Int("axis", 1), 2);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].ToDoubles(), ElementsAre(3, 6));
  EXPECT_THAT((*y)[1].ToDoubles(), ElementsAre(2, 2));
}

TEST(Lift, RepeatsAlongOneAxisInOldTile) {
  const auto y = Apply("Tile", 1, kMatrix + Floats("n", {1}, {2}) + Floats("axis", {1}, {1}),
                       {"x", "n", "axis"}, "");
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].ToDoubles(), ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
}

TEST(Lift, UpsamplesByScalesInAttributes) {
  const auto y = Apply("Upsample", 7, kMatrix, {"x"},
                       "attribute { name: 'scales' type: FLOATS floats: [1, 2] } ");
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT((*y)[0].ToDoubles(), ElementsAre(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6));
}

}  // namespace
}  // namespace tartan::onnx::lift_test
