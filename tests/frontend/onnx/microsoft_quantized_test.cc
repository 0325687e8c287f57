// SPDX-License-Identifier: Apache-2.0
// Tests of Microsoft's quantized layers, packed tables and variants of ONNX operators.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_results.h"

namespace tartan::onnx::microsoft_quantized_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pointwise;

const HostTensor kNone;

std::string Int(const std::string& name, int64_t value) { return Attribute(name, value); }

OperatorCall Call(const std::string& op, std::vector<api::HostValue> inputs,
                  const std::string& fields = "") {
  return {op, 18, std::move(inputs), fields, 1, "com.microsoft"};
}

HostTensor Bytes(std::vector<int64_t> dims, const std::vector<double>& values) {
  return Values(std::move(dims), values, DataType::kUInt8);
}

HostTensor Real(double value) { return Values({}, {value}); }
HostTensor Byte(double value) { return Bytes({}, {value}); }

TEST(QGemm, MultipliesWhatIntegersStandFor) {
  // A = [-2, 2] * 0.5, B = [[3, 0], [-1, 1]] * [2, 4]; C has the scale of A times the scale of B.
  const std::vector<api::HostValue> operands = {Bytes({2, 1}, {8, 12}),
                                                Real(0.5),
                                                Byte(10),
                                                Values({2, 2}, {3, 0, -1, 1}, DataType::kInt8),
                                                Values({2}, {2, 4}),
                                                Values({2}, {0, 0}, DataType::kInt8),
                                                Values({2}, {10, -1}, DataType::kInt32)};
  EXPECT_THAT(Evaluate(Call("QGemm", operands, Int("transA", 1))),
              ElementsAre((-8 + 10) * 1.0, (2 - 1) * 2.0));
  std::vector<api::HostValue> quantized = operands;
  quantized.push_back(Real(0.25));
  quantized.push_back(Byte(100));
  const HostTensor y =
      EvaluateTensor(Call("QGemm", quantized, Int("transA", 1) + Attribute("alpha", 0.5f)));
  EXPECT_EQ(y.type(), DataType::kUInt8);
  EXPECT_THAT(y.ToInts(), ElementsAre(104, 104));
  EXPECT_THAT(Error(Call("QGemm", {Bytes({2}, {1, 2}), Real(1), Byte(0), Bytes({2, 1}, {1, 2}),
                                   Real(1), Byte(0)})),
              HasSubstr("operand 0 is uint8[2]"));
}

TEST(QLinearConcat, BringsPartsToOneScale) {
  const HostTensor y = EvaluateTensor(Call("QLinearConcat",
                                           {Real(0.5), Byte(10), Bytes({1, 2}, {4, 6}), Real(1),
                                            Byte(5), Bytes({1, 1}, {255}), Real(0.25), Byte(0)},
                                           Int("axis", 1)));
  EXPECT_THAT(y.shape().dims, ElementsAre(1, 3));
  EXPECT_THAT(y.ToInts(), ElementsAre(8, 12, 138));  // 63.75 / 0.5 = 127.5, to even
  EXPECT_THAT(Error(Call("QLinearConcat",
                         {Real(0.5), Byte(10), Bytes({1, 2}, {4, 6}), Real(1), Byte(5),
                          Bytes({1, 1}, {255}), Real(0.25), Byte(0)},
                         Int("axis", 0))),
              HasSubstr("operand 5 is uint8[1, 1] beside uint8[1, 2]"));
}

TEST(QLinearWhere, ChoosesBetweenScales) {
  const HostTensor condition = Values({3}, {1, 0, 1}, DataType::kBool);
  EXPECT_THAT(Evaluate(Call("QLinearWhere", {condition, Bytes({3}, {1, 2, 3}), Real(2), Byte(0),
                                             Byte(7), Real(1), Byte(1), Real(1), Byte(100)})),
              ElementsAre(102, 106, 106));
}

TEST(NhwcConv, IsConvWithChannelsLast) {
  // Two channels, three pixels; the filter adds both channels of a pixel and of the pixel to its
  // right.
  EXPECT_THAT(Evaluate(Call("NhwcConv", {Values({1, 3, 1, 2}, {1, 10, 2, 20, 3, 30}),
                                         Values({1, 2, 2, 1}, {1, 1, 1, 1})})),
              ElementsAre(33, 55));
  EXPECT_THAT(Error(Call("NhwcConv", {Values({2, 2}, {1, 2, 3, 4}), Values({1, 1}, {1})})),
              HasSubstr("expected rank 3 or more"));
}

TEST(GatherBlockQuantized, UnpacksTheRowsItTakes) {
  // Rows of 32 4-bit values in blocks of 16; row r contains r, 1, 2 … in order.
  std::vector<double> bytes;
  std::vector<double> expected;
  for (int row = 0; row < 3; ++row) {
    for (int i = 0; i < 16; ++i) bytes.push_back(row + 16 * i);
  }
  for (int row : {2, 0}) {
    for (int i = 0; i < 32; ++i) {
      const int number = i % 2 == 0 ? row : i / 2;
      const int zero = i < 16 ? 1 : 3;
      expected.push_back((number - zero) * (i < 16 ? 0.5 : 2.0) * (row + 1));
    }
  }
  const HostTensor scales = Values({3, 2}, {0.5, 2, 1, 4, 1.5, 6});
  const std::string fields =
      Int("block_size", 16) + Int("gather_axis", 0) + Int("quantize_axis", 1);
  const HostTensor rows = Values({2}, {2, 0}, DataType::kInt64);
  const HostTensor y = EvaluateTensor(
      Call("GatherBlockQuantized",
           {Bytes({3, 16}, bytes), rows, scales, Bytes({3, 1}, {0x31, 0x31, 0x31})}, fields));
  EXPECT_THAT(y.shape().dims, ElementsAre(2, 32));
  EXPECT_THAT(y.ToDoubles(), ElementsAreArray(expected));
  EXPECT_THAT(Error(Call("GatherBlockQuantized",
                         {Bytes({3, 16}, bytes), rows, Values({3, 1}, {1, 1, 1})}, fields)),
              HasSubstr("scales float32[3, 1] for blocks of 16"));
  EXPECT_THAT(Error(Call("GatherBlockQuantized",
                         {Bytes({3, 16}, bytes), rows, Values({3}, {1, 1, 1})}, fields)),
              HasSubstr("operand 2 is float32[3] for a table of uint8[3, 16]"));
}

TEST(GatherBlockQuantized, TakesNumbersThatAreNarrowAlready) {
  const api::HostValue table(Values({2, 2}, {-8, 7, 1, -1}, DataType::kInt8), api::Element::kInt4);
  EXPECT_THAT(Evaluate(Call("GatherBlockQuantized",
                            {table, Values({1}, {-1}, DataType::kInt64), Values({2, 1}, {1, 3})},
                            Int("block_size", 16))),
              ElementsAre(3, -3));
}

TEST(CDist, MeasuresFromEachRowToEach) {
  const std::vector<api::HostValue> rows = {Values({1, 2}, {0, 0}), Values({2, 2}, {3, 4, 0, 1})};
  EXPECT_THAT(Evaluate(Call("CDist", rows)), ElementsAre(25, 1));
  EXPECT_THAT(Evaluate(Call("CDist", rows, Attribute("metric", std::string("euclidean")))),
              Pointwise(DoubleNear(1e-6), {5.0, 1.0}));
}

TEST(Inverse, IsOfEachMatrix) {
  EXPECT_THAT(Evaluate(Call("Inverse", {Values({2, 2, 2}, {0, 2, 4, 0, 1, 1, 0, 1})})),
              ElementsAre(0, 0.25, 0.5, 0, 1, -1, 0, 1));
  EXPECT_THAT(Error(Call("Inverse", {Values({1, 2}, {1, 2})})),
              HasSubstr("square matrices are expected"));
}

TEST(QLinearAveragePool, TakesChannelsLast) {
  EXPECT_THAT(Evaluate(Call(
                  "QLinearAveragePool",
                  {Bytes({1, 1, 2, 2}, {10, 0, 30, 8}), Real(1), Byte(0), Real(2), Byte(1)},
                  Int("channels_last", 1) + Attribute("kernel_shape", std::vector<int64_t>{1, 2}))),
              ElementsAre(11, 3));
}

}  // namespace
}  // namespace tartan::onnx::microsoft_quantized_test
