// SPDX-License-Identifier: Apache-2.0
// Tests of sequences with incompatible elements.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/model/onnx_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx::sequences_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kFloat = 1;
constexpr int kInt64 = 7;

// A constant with equal elements.
std::string Filled(const std::string& name, const std::vector<int64_t>& dims, int type = kFloat) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  const std::string field = type == kFloat ? " float_data: 1" : " int64_data: 1";
  std::string text = absl::StrCat(" initializer { name: '", name, "' data_type: ", type);
  if (!dims.empty()) absl::StrAppend(&text, " dims: [", absl::StrJoin(dims, ", "), "]");
  for (int64_t i = 0; i < count; ++i) text += field;
  return text + " } ";
}

// Applies ConcatFromSequence to the constants 'a' and 'b'.
absl::StatusOr<api::BoundGraph> Join(const std::string& constants, int64_t axis, bool is_new) {
  const std::string bytes = ModelBytes(absl::StrCat(
      "graph { ", constants, NodeText("SequenceConstruct", {"a", "b"}, {"s"}),
      NodeText("ConcatFromSequence", {"s"}, {"y"},
               Attribute("axis", axis) + Attribute("new_axis", int64_t{is_new ? 1 : 0})),
      " output { name: 'y' } }"));
  const auto model =
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m");
  if (!model.ok()) return model.status();
  return (*model)->Bind({});
}

std::string JoinError(const std::string& constants, int64_t axis, bool is_new) {
  return std::string(Join(constants, axis, is_new).status().message());
}

std::vector<int64_t> JoinedDims(const std::string& constants, int64_t axis, bool is_new) {
  const auto bound = Join(constants, axis, is_new);
  EXPECT_TRUE(bound.ok()) << bound.status();
  return bound.ok() ? bound->outputs.at(0).tensor().dims() : std::vector<int64_t>();
}

TEST(ConcatFromSequence, RefusesElementsOfOtherRanksBeforeItAddsAnAxis) {
  EXPECT_THAT(JoinError(Filled("a", {1, 1, 1, 1, 1, 2}) + Filled("b", {2}), 6, true),
              HasSubstr("elements float32[1, 1, 1, 1, 1, 2] and float32[2] do not match"));
  EXPECT_THAT(JoinError(Filled("a", {1, 1, 1, 1, 1, 1, 1, 1}) + Filled("b", {}), -1, true),
              HasSubstr("elements float32[1, 1, 1, 1, 1, 1, 1, 1] and float32[] do not match"));
  EXPECT_THAT(JoinError(Filled("a", {1, 2}) + Filled("b", {2}), 1, false),
              HasSubstr("elements float32[1, 2] and float32[2] do not match"));
}

TEST(ConcatFromSequence, NamesTheShapesTheModelHas) {
  EXPECT_THAT(JoinError(Filled("a", {2}) + Filled("b", {3}), 0, true),
              HasSubstr("elements float32[2] and float32[3] do not match"));
  EXPECT_THAT(JoinError(Filled("a", {2, 2}) + Filled("b", {2, 3}), 0, false),
              HasSubstr("elements float32[2, 2] and float32[2, 3] do not match"));
}

TEST(ConcatFromSequence, RefusesElementsOfOtherTypes) {
  EXPECT_THAT(JoinError(Filled("a", {2}) + Filled("b", {2}, kInt64), 0, true),
              HasSubstr("elements float32[2] and int64[2] do not match"));
  const std::string words =
      " initializer { name: 'a' data_type: 8 dims: 1 string_data: 'word' } "
      " initializer { name: 'b' data_type: 6 dims: 1 int32_data: 1000000 } ";
  EXPECT_THAT(JoinError(words, 0, false), HasSubstr("do not match"));
}

TEST(ConcatFromSequence, JoinsAlongANewAxisAndOneOfTheElements) {
  const std::string elements = Filled("a", {2, 1}) + Filled("b", {2, 1});
  EXPECT_THAT(JoinedDims(elements, -1, true), ElementsAre(2, 1, 2));
  EXPECT_THAT(JoinedDims(elements, 0, true), ElementsAre(2, 2, 1));
  EXPECT_THAT(JoinedDims(Filled("a", {2, 1}) + Filled("b", {2, 3}), -1, false), ElementsAre(2, 4));
}

}  // namespace
}  // namespace tartan::onnx::sequences_test
