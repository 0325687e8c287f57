// SPDX-License-Identifier: Apache-2.0
// Every file of examples/tile: it parses, prints back to an equal tree, binds with the shapes of
// its "// shapes:" line, and gives the values computed by hand here.
#include <cmath>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tile/lang/evaluate.h"
#include "tests/tile/lang/tile_text.h"
#include "tile/lang/parser.h"

namespace tartan::lang {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

constexpr const char* kFolder = "examples/tile";

std::string Example(const std::string& name) {
  for (const std::string& path : TileFiles(kFolder)) {
    if (path.ends_with("/" + name + ".tile")) return ReadFile(path);
  }
  ADD_FAILURE() << "no example " << name;
  return "";
}

std::vector<HostTensor> RunExample(const std::string& name, const std::vector<HostTensor>& inputs) {
  SCOPED_TRACE(name);
  return Evaluate(Example(name), inputs);
}

std::vector<double> OutputOf(const std::string& name, const std::vector<HostTensor>& inputs) {
  const std::vector<HostTensor> outputs = RunExample(name, inputs);
  return outputs.size() == 1 ? Values(outputs[0]) : std::vector<double>{};
}

// 1, 2, 3 …
HostTensor Counting(std::vector<int64_t> dims) {
  const TensorShape shape{DataType::kFloat32, dims};
  std::vector<float> values;
  for (int64_t i = 0; i < shape.element_count(); ++i) values.push_back(static_cast<float>(i + 1));
  return FloatTensor(std::move(dims), values);
}

TEST(Examples, AreThereInNumber) { EXPECT_GE(TileFiles(kFolder).size(), 27); }

TEST(Examples, PrintBackToEqualTrees) {
  for (const std::string& path : TileFiles(kFolder)) {
    SCOPED_TRACE(path);
    const absl::StatusOr<Function> function = Parse(ReadFile(path), path);
    ASSERT_TRUE(function.ok()) << function.status().message();
    const std::string printed = Print(*function);
    const absl::StatusOr<Function> again = Parse(printed);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_TRUE(Equal(*function, *again)) << printed;
  }
}

TEST(Examples, SayWhatTheyShowAndBind) {
  for (const std::string& path : TileFiles(kFolder)) {
    SCOPED_TRACE(path);
    const std::string text = ReadFile(path);
    EXPECT_EQ(text.substr(0, 3), "// ");
    EXPECT_NE(Header(text, "Source"), "");
    const absl::StatusOr<ir::Program> program = ParseAndBind(text, HeaderShapes(text), path);
    EXPECT_TRUE(program.ok()) << program.status().message();
  }
}

TEST(Examples, SumOverAxis) {
  EXPECT_THAT(OutputOf("sum_over_axis", {Counting({2, 3})}), ElementsAre(5, 7, 9));
  EXPECT_THAT(OutputOf("sum_over_axis_padded", {Counting({2, 3})}), ElementsAre(5, 7, 9, 0));
}

TEST(Examples, MatrixMultiplication) {
  EXPECT_THAT(OutputOf("matmul", {Counting({2, 3}), Counting({3, 2})}),
              ElementsAre(22, 28, 49, 64));
}

TEST(Examples, MaxOverAxisAndGlobalMin) {
  const HostTensor input = FloatTensor({2, 3}, {-1, 5, -3, -4, 2, -2});
  EXPECT_THAT(OutputOf("max_over_axis", {input}), ElementsAre(-1, 5, -2));
  EXPECT_THAT(OutputOf("global_min", {input.Reshaped({2, 3, 1})}), ElementsAre(-4));
}

TEST(Examples, Means) {
  EXPECT_THAT(OutputOf("mean_over_axis", {Counting({2, 3})}), ElementsAre(2.5, 3.5, 4.5));
  EXPECT_THAT(OutputOf("global_mean", {Counting({2, 3})}), ElementsAre(3.5));
  EXPECT_THAT(OutputOf("global_mean_staged", {Counting({2, 3})}), ElementsAre(3.5));
}

TEST(Examples, MaxPooling) {
  const HostTensor input = FloatTensor({5}, {4, 1, 2, 3, 9});
  EXPECT_THAT(OutputOf("max_pool_1d", {input}), ElementsAre(4, 3));
  EXPECT_THAT(OutputOf("max_pool_1d_round_up", {input}), ElementsAre(4, 3, 9));
  EXPECT_THAT(OutputOf("max_pool_1d_unconstrained", {input}), ElementsAre(9, 9));
}

TEST(Examples, Skipping) {
  EXPECT_THAT(OutputOf("even_rows", {Counting({5, 2})}), ElementsAre(3, 0, 11, 0, 19));
}

TEST(Examples, CumulativeSums) {
  EXPECT_THAT(OutputOf("cumulative_sum", {Counting({4})}), ElementsAre(1, 3, 6, 10));
  EXPECT_THAT(OutputOf("cumulative_sum_shifted", {Counting({4})}), ElementsAre(1, 3, 6, 10));
}

TEST(Examples, Convolutions) {
  EXPECT_THAT(OutputOf("conv1d", {Counting({1, 4, 1}), FloatTensor({2, 1, 2}, {1, 10, 2, 20})}),
              ElementsAre(5, 50, 8, 80, 11, 110));
  // Rows x and x + 2, columns y and y + 3 of [[1 .. 5] [6 .. 10] [11 .. 15] [16 .. 20]].
  EXPECT_THAT(
      OutputOf("conv2d_dilated", {Counting({1, 4, 5, 1}), FloatTensor({2, 2, 1, 1}, {1, 1, 1, 1})}),
      ElementsAre(1 + 4 + 11 + 14, 2 + 5 + 12 + 15, 6 + 9 + 16 + 19, 7 + 10 + 17 + 20));
  // All ones: every output counts the taps inside the 3x3 input.
  EXPECT_THAT(OutputOf("conv2d_same_relu", {FloatTensor({1, 3, 3, 1}, std::vector<float>(9, 1)),
                                            FloatTensor({3, 3, 1, 1}, std::vector<float>(9, 1))}),
              ElementsAre(4, 6, 4, 6, 9, 6, 4, 6, 4));
  EXPECT_THAT(OutputOf("conv2d_same_relu", {FloatTensor({1, 3, 3, 1}, std::vector<float>(9, 1)),
                                            FloatTensor({3, 3, 1, 1}, std::vector<float>(9, -1))}),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(Examples, Aggregations) {
  const std::vector<HostTensor> outputs = RunExample("aggregations", {Counting({2, 3})});
  ASSERT_EQ(outputs.size(), 5);
  EXPECT_THAT(Values(outputs[0]), ElementsAre(6, 15));
  EXPECT_THAT(Values(outputs[1]), ElementsAre(6, 120));
  EXPECT_THAT(Values(outputs[2]), ElementsAre(3, 6));
  EXPECT_THAT(Values(outputs[3]), ElementsAre(1, 4));
  EXPECT_THAT(Values(outputs[4]), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Examples, Combinations) {
  const std::vector<HostTensor> outputs =
      RunExample("combinations", {Counting({2, 3}), Counting({3, 2})});
  ASSERT_EQ(outputs.size(), 2);
  EXPECT_THAT(Values(outputs[0]), ElementsAre(22, 28, 49, 64));
  EXPECT_THAT(Values(outputs[1]), ElementsAre(8, 9, 11, 12));
}

TEST(Examples, ElementwiseOperations) {
  const std::vector<HostTensor> outputs =
      RunExample("elementwise", {FloatTensor({2, 2}, {1, 2, 3, 4}), FloatTensor({2}, {2, 2})});
  ASSERT_EQ(outputs.size(), 15);
  const std::vector<std::vector<double>> expected = {
      {3, 4, 5, 6},
      {-1, 0, 1, 2},
      {2, 4, 6, 8},
      {0.5, 1, 1.5, 2},
      {0, 1, 0, 0},
      {1, 0, 1, 1},
      {1, 0, 0, 0},
      {1, std::sqrt(2), std::sqrt(3), 2},
      {std::exp(1), std::exp(2), std::exp(3), std::exp(4)},
      {1, 4, 9, 16},
      {std::sin(1), std::sin(2), std::sin(3), std::sin(4)},
      {std::tanh(1), std::tanh(2), std::tanh(3), std::tanh(4)},
      {0, std::log(2), std::log(3), std::log(4)},
      {1 / (1 + std::exp(-1)), 1 / (1 + std::exp(-2)), 1 / (1 + std::exp(-3)),
       1 / (1 + std::exp(-4))},
      {1, 2, 2, 2}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_THAT(Values(outputs[i]), Pointwise(::testing::DoubleNear(1e-5), expected[i])) << i;
  }
}

TEST(Examples, FunctionHeader) {
  const std::vector<HostTensor> outputs = RunExample(
      "function_header", {Counting({1, 2}), Counting({2, 1, 2}), FloatTensor({2}, {0, 1})});
  ASSERT_EQ(outputs.size(), 2);
  EXPECT_THAT(Values(outputs[0]), ElementsAre(7, 10));
  EXPECT_THAT(Values(outputs[1]), ElementsAre(1, DoubleNear(std::exp(1), 1e-6)));
}

TEST(Examples, CompilerPrintout) {
  EXPECT_THAT(
      OutputOf("compiler_printout", {FloatTensor({3, 2}, {1, 1, 1, 1, 1, 1}), Counting({3, 2})}),
      ElementsAre(0, 0, 0));
  EXPECT_THAT(OutputOf("compiler_printout",
                       {FloatTensor({3, 1}, {1, static_cast<float>(M_E), 1}), Counting({3, 1})}),
              ElementsAre(0, DoubleNear(-2, 1e-6), 0));
}

TEST(Examples, StridedDilatedConvolution) {
  // Rows 3y + 2j and columns 3x + 2i of a 6x6 input that counts from 1; the second channel is
  // ten times the first.
  const std::vector<float> kernel = {1, 10, 1, 10, 1, 10, 1, 10};
  const auto sum = [](int y, int x) {
    double total = 0;
    for (int j = 0; j < 2; ++j) {
      for (int i = 0; i < 2; ++i) total += 6 * (3 * y + 2 * j) + 3 * x + 2 * i + 1;
    }
    return total;
  };
  EXPECT_THAT(OutputOf("conv2d_strided_dilated",
                       {Counting({1, 6, 6, 1}), FloatTensor({2, 2, 1, 2}, kernel)}),
              ElementsAre(sum(0, 0), 10 * sum(0, 0), sum(0, 1), 10 * sum(0, 1), sum(1, 0),
                          10 * sum(1, 0), sum(1, 1), 10 * sum(1, 1)));
}

TEST(Examples, TheThreeFormsOfTheGradientAgree) {
  const std::vector<HostTensor> inputs = {Counting({1, 2, 2, 2}), Counting({2, 2, 1, 2})};
  // DI[3y + 2j, 3x + 2i] += DO[y, x, co] * K[j, i, co], spelled out.
  std::vector<double> expected(36, 0);
  for (int y = 0; y < 2; ++y) {
    for (int x = 0; x < 2; ++x) {
      for (int j = 0; j < 2; ++j) {
        for (int i = 0; i < 2; ++i) {
          for (int co = 0; co < 2; ++co) {
            const double gradient = (y * 2 + x) * 2 + co + 1;
            const double weight = (j * 2 + i) * 2 + co + 1;
            expected[(3 * y + 2 * j) * 6 + 3 * x + 2 * i] += gradient * weight;
          }
        }
      }
    }
  }
  EXPECT_EQ(OutputOf("conv2d_strided_dilated_gradient", inputs), expected);
  EXPECT_EQ(OutputOf("conv2d_gradient_reduced", inputs), expected);
  EXPECT_EQ(OutputOf("conv2d_gradient_defracted", inputs), expected);
}

TEST(Examples, FlattenedAccess) {
  const std::vector<double> output = OutputOf("flattened_access", {Counting({16, 16})});
  ASSERT_EQ(output.size(), 256u);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      EXPECT_EQ(output[16 * i + j], i + j < 16 ? 17 * i + j + 1 : 0) << i << ", " << j;
    }
  }
}

TEST(Examples, ConvolutionWithItsOutputOperations) {
  const std::vector<HostTensor> inputs = {
      Counting({1, 3, 3, 1}), FloatTensor({3, 3, 1, 1}, {1, 0, -1, 2, 0, -2, 1, 0, -1})};
  EXPECT_EQ(OutputOf("conv2d_same_relu_operations", inputs), OutputOf("conv2d_same_relu", inputs));
}

TEST(Examples, StraightThrough) {
  // The scale is 7 / 7, so the weights are rounded to whole numbers: 7 and 2.
  EXPECT_THAT(OutputOf("straight_through",
                       {FloatTensor({2}, {7, 1.75f}), FloatTensor({2, 2}, {1, 10, 2, 20})}),
              ElementsAre(27, 54));
}

TEST(Examples, GeneratedGradient) {
  const std::vector<HostTensor> outputs =
      RunExample("generated_gradient", {FloatTensor({2, 2, 5, 7}, std::vector<float>(140, 1)),
                                        FloatTensor({2, 9, 9, 5}, std::vector<float>(810, 1))});
  ASSERT_EQ(outputs.size(), 2);
  // The mean is over 2*3*3*7 = 126 outputs; each weight meets 2*3*3 of them.
  for (const double value : Values(outputs[1])) EXPECT_NEAR(value, 18.0 / 126, 1e-6);
  // Input element (0, 0) is read by tap (0, 0) of output (0, 0) only, for 7 channels.
  EXPECT_NEAR(Values(outputs[0])[0], 7.0 / 126, 1e-6);
  // Row 1 is 3y + 2j for no y and j.
  EXPECT_EQ(Values(outputs[0])[9 * 5], 0);
}

}  // namespace
}  // namespace tartan::lang
