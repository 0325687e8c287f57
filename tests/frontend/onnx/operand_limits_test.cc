// SPDX-License-Identifier: Apache-2.0
// Tests of operands at and beyond the limits of an operator.
#include <cmath>
#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx::operand_limits_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostTensor Indices(const std::vector<double>& values) {
  return Values({static_cast<int64_t>(values.size())}, values, DataType::kInt64);
}

TEST(Gather, TakesNegativeIndicesDownToTheFirstElement) {
  const auto result = RunOperator({"Gather", 13, {Values({3}, {1, 2, 3}), Indices({-3, 2})}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->at(0).ToDoubles(), ElementsAre(1, 3));
}

// "starts[axes[i]] is clamped … to range [0, dims[axes[i]]-1] for negative stepping"
TEST(Slice, BackwardsFromBeforeTheFirstElementBeginsThere) {
  const auto slice = [](const HostTensor& x, double start, double end, double step) {
    const auto result = RunOperator(
        {"Slice", 13, {x, Indices({start}), Indices({end}), Indices({0}), Indices({step})}});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->at(0).ToDoubles() : std::vector<double>();
  };
  const HostTensor x = Values({3}, {5, 6, 7});
  EXPECT_THAT(slice(x, -4, -1e18, -2), ElementsAre(5));
  EXPECT_THAT(slice(x, -1e18, -4, -1), ElementsAre(5));
  EXPECT_THAT(slice(x, -4, 0, -1), ElementsAre());
  EXPECT_THAT(slice(x, -1, -4, -1), ElementsAre(7, 6, 5));
  EXPECT_THAT(slice(Values({0}, {}), -4, -1e18, -1), ElementsAre());
}

TEST(Indices, OutsideOfTheDataAreRefusedWhereTheyAreKnown) {
  const HostTensor x = Values({3}, {1, 2, 3});
  for (const double index : {3.0, -4.0, 1e15}) {
    const HostTensor indices = Indices({0, index});
    const HostTensor updates = Values({2}, {7, 8});
    for (const OperatorCall& call : {OperatorCall{"Gather", 13, {x, indices}},
                                     OperatorCall{"GatherElements", 13, {x, indices}},
                                     OperatorCall{"ScatterElements", 13, {x, indices, updates}}}) {
      const auto result = RunOperator(call);
      EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << call.op;
      EXPECT_THAT(std::string(result.status().message()),
                  HasSubstr("is out of range [-3, 2] of axis 0"));
    }
  }
}

TEST(EyeLike, HasNoOnesBeyondTheCorners) {
  for (const int64_t k : {int64_t{2}, int64_t{-2}, int64_t{1} << 32, -(int64_t{1} << 62)}) {
    const auto result =
        RunOperator({"EyeLike", 9, {Values({2, 2}, {5, 5, 5, 5})}, Attribute("k", k)});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_THAT(result->at(0).ToDoubles(), Each(0)) << k;
  }
}

TEST(Sum, TakesVeryManyOperands) {
  OperatorCall call{"Sum", 13};
  for (int i = 0; i < 1500; ++i) call.inputs.push_back(Values({1}, {static_cast<double>(i)}));
  const auto sum = RunOperator(call);
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(sum->at(0).ToDoubles(), ElementsAre(1500 * 1499 / 2));
  call.op = "Max";
  const auto greatest = RunOperator(call);
  ASSERT_TRUE(greatest.ok()) << greatest.status();
  EXPECT_THAT(greatest->at(0).ToDoubles(), ElementsAre(1499));
}

HostTensor Integer(double value) { return Values({}, {value}, DataType::kInt64); }

TEST(Range, ReachesTheEndsOfInt64) {
  const HostTensor least =
      HostTensor::FromVector(TensorShape{DataType::kInt64, {}}, std::vector<int64_t>{INT64_MIN});
  const double step = 3 * std::ldexp(1, 61);
  const auto range = RunOperator({"Range", 11, {least, Integer(step), Integer(step)}});
  ASSERT_TRUE(range.ok()) << range.status();
  EXPECT_THAT(range->at(0).ToInts(), ElementsAre(INT64_MIN, -(int64_t{1} << 61), int64_t{1} << 62));
}

// Each result would take gigabytes.
TEST(LargeResults, AreRefusedBeforeTheyAreMade) {
  const HostTensor rate = Integer(16000);
  const api::HostValue many = api::HostStrings({3000, 1}, std::vector<std::string>(3000, "a"));
  const api::HostValue more = api::HostStrings({1, 3000}, std::vector<std::string>(3000, "b"));
  std::vector<std::string> texts(5000, "");
  texts[0] = std::string(5000, ',');
  const OperatorCall calls[] = {
      {"MelWeightMatrix", 17, {Integer(65536), Integer(65536), rate, Values({}, {0}), rate}},
      {"StringConcat", 20, {many, more}},
      {"StringSplit", 20, {api::HostStrings({5000}, texts)}, Attribute("delimiter", ","), 2},
      {"SplitToSequence", 11, {Values({20000}, std::vector<double>(20000, 0)), Integer(1)}}};
  for (const OperatorCall& call : calls) {
    EXPECT_EQ(RunOperatorValues(call).status().code(), absl::StatusCode::kResourceExhausted)
        << call.op;
  }
}

TEST(Resize, RefusesAnAxisWhoseWeightsWouldTakeAGigabyte) {
  const HostTensor sizes = Values({1}, {1 << 23}, DataType::kInt64);
  const auto result = RunOperator({"Resize", 19, {Values({2}, {1, 2}), {}, {}, sizes}});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("an axis of 8388608 elements"));
}

TEST(Resize, RefusesARegionThatIsNoneAndSizesBeyondAllNumbers) {
  const HostTensor x = Values({2}, {1, 2});
  OperatorCall call{"Resize", 19, {x, Values({2}, {0, NAN}), Values({1}, {2})}};
  call.fields = Attribute("coordinate_transformation_mode", std::string("tf_crop_and_resize"));
  EXPECT_THAT(std::string(RunOperator(call).status().message()),
              HasSubstr("a bound of the region is nan"));
  const HostTensor far = Values({1}, {double(int64_t{1} << 62)}, DataType::kInt64);
  OperatorCall larger{"Resize", 19, {x, {}, {}, far}};
  larger.fields = Attribute("keep_aspect_ratio_policy", std::string("not_smaller"));
  EXPECT_THAT(std::string(RunOperator(larger).status().message()), HasSubstr("is too large"));
}

TEST(ConvTranspose, RefusesSizesBeyondAllNumbers) {
  const HostTensor x = Values({1, 1, 2}, {1, 2});
  for (const char* name : {"output_padding", "output_shape"}) {
    for (const int64_t size : {INT64_MAX, INT64_MIN, int64_t{-1}}) {
      OperatorCall call{"ConvTranspose", 11, {x, Values({1, 1, 1}, {1})}};
      call.fields = Attribute(name, std::vector<int64_t>{size});
      const auto result = RunOperator(call);
      EXPECT_THAT(std::string(result.status().message()), HasSubstr(name)) << size;
    }
  }
}

TEST(OperandsOfAnyNumber, AreAllThere) {
  const HostTensor one = Values({1}, {1});
  for (const char* op : {"Sum", "Max", "Concat"}) {
    OperatorCall call{op, 13, {one, {}, one}};
    if (op == std::string("Concat")) call.fields = Attribute("axis", int64_t{0});
    EXPECT_THAT(std::string(RunOperator(call).status().message()),
                HasSubstr("operand 1 is missing"))
        << op;
  }
  OperatorCall momentum{"Momentum", 1, {one, one, one, {}, one}};
  momentum.domain = "ai.onnx.preview.training";
  momentum.fields = Attribute("alpha", 0.9f) + Attribute("beta", 1.0f) +
                    Attribute("norm_coefficient", 0.0f) +
                    Attribute("mode", std::string("standard"));
  EXPECT_THAT(std::string(RunOperator(momentum).status().message()),
              HasSubstr("operand 3 is missing"));
}

TEST(FlexAttention, RefusesAQueryOfAnotherRank) {
  OperatorCall call{"FlexAttention", 26, {}};
  const HostTensor key = Values({1, 1, 1, 2}, {1, 2});
  call.inputs = {Values({1, 1, 2}, {1, 2}), key, key};
  call.domain = "ai.onnx.preview";
  const auto result = RunOperator(call);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("not of rank 4"));
}

TEST(Pad, RefusesAValueThatIsNoneAndPadsBeyondAllSizes) {
  const HostTensor x = Values({2}, {1, 2});
  const auto empty = RunOperator({"Pad", 13, {x, Indices({1, 1}), Values({0}, {})}});
  EXPECT_EQ(empty.status().code(), absl::StatusCode::kInvalidArgument);
  const HostTensor least = HostTensor::FromVector(TensorShape{DataType::kInt64, {2}},
                                                  std::vector<int64_t>{INT64_MIN, 0});
  EXPECT_EQ(RunOperator({"Pad", 13, {x, least}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Recurrent, RefusesSizesThatOverflow) {
  const auto result = RunOperator(
      {"LSTM",
       14,
       {Values({1, 1, 1}, {1}), Values({1, 4, 1}, {1, 1, 1, 1}), Values({1, 4, 1}, {1, 1, 1, 1})},
       Attribute("hidden_size", int64_t{1} << 61)});
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("hidden_size is"));
}

}  // namespace
}  // namespace tartan::onnx::operand_limits_test
