// SPDX-License-Identifier: Apache-2.0
// Tests of models whose matmul weights are quantized to a few bits.
#include "frontend/onnx/model/quantize_weights.h"

#include <cmath>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/model/model_reader.h"
#include "frontend/onnx/model/quantize_block.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/onnx.pb.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::onnx::quantize_weights_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<float> Waves(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(std::sin(0.37f * static_cast<float>(i)));
  return values;
}

// Element k of row r, as MatMulNBits reads it.
double Decoded(const BlockedRows& rows, int64_t r, int64_t k) {
  const int64_t parts = 8 / rows.bits;
  const int64_t block = r * rows.blocks() + k / rows.block;
  const int64_t byte = rows.numbers[block * rows.block / parts + k % rows.block / parts];
  const int64_t number = byte >> (k % parts * rows.bits) & ((1 << rows.bits) - 1);
  return static_cast<double>(number - (1 << (rows.bits - 1))) * rows.scales[block];
}

TEST(QuantizeRows, IsOffByHalfAStepAtMost) {
  // 50 terms make two blocks, the second of which is partial; results are adjacent.
  const std::vector<float> values = Waves(50 * 3);
  const BlockedRows rows = QuantizeRows(values.data(), 3, 50, 1, 3, 8, 32);
  ASSERT_EQ(rows.numbers.size(), 3 * 64);
  ASSERT_EQ(rows.scales.size(), 3 * 2);
  double greatest = 0;
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t k = 0; k < 50; ++k) {
      const double error = std::abs(Decoded(rows, r, k) - values[k * 3 + r]);
      EXPECT_LE(error, 0.5001 * std::abs(rows.scales[r * 2 + k / 32]));
      greatest = std::max(greatest, error);
    }
  }
  EXPECT_DOUBLE_EQ(rows.max_error, greatest);
}

TEST(QuantizeRows, KeepsWhatFourBitsHold) {
  // Multiples of a quarter from -8 to 7 are exact, in any order.
  std::vector<float> values;
  for (int i = 0; i < 32; ++i) values.push_back(0.25f * static_cast<float>(i * 5 % 16 - 8));
  const BlockedRows rows = QuantizeRows(values.data(), 1, 32, 32, 1, 4, 16);
  for (int64_t k = 0; k < 32; ++k) EXPECT_EQ(Decoded(rows, 0, k), values[k]) << k;
  EXPECT_EQ(rows.max_error, 0);
  EXPECT_EQ(rows.rms_error, 0);
}

TEST(QuantizeRows, TakesTheScaleThatSuitsMost) {
  // An exact outlier would increase the total error of the other values.
  std::vector<float> values = Waves(32);
  values[7] = 2;
  const BlockedRows rows = QuantizeRows(values.data(), 1, 32, 32, 1, 4, 32);
  double fitting = 0;  // error with the scale at which the outlier is exact
  for (const float value : values) {
    const double error = value + std::nearbyint(value / -0.25f) * 0.25;
    fitting += error * error;
  }
  double squares = 0;
  double errors = 0;
  for (int64_t k = 0; k < 32; ++k) {
    squares += values[k] * values[k];
    errors += std::pow(Decoded(rows, 0, k) - values[k], 2);
  }
  EXPECT_LE(errors, fitting);
  EXPECT_NEAR(rows.rms_error, std::sqrt(errors / squares), 1e-6);
}

TEST(QuantizeRows, HasZerosForZeros) {
  const std::vector<float> values(16, 0.0f);
  const BlockedRows rows = QuantizeRows(values.data(), 1, 16, 16, 1, 8, 16);
  EXPECT_EQ(Decoded(rows, 0, 3), 0);
  EXPECT_EQ(rows.rms_error, 0);
}

// --- Models

std::string Initializer(const std::string& name, int64_t rows, int64_t columns) {
  std::string text = absl::StrCat("initializer { name: '", name, "' data_type: 1 dims: ", rows,
                                  " dims: ", columns);
  for (const float value : Waves(rows * columns)) absl::StrAppend(&text, " float_data: ", value);
  return text + " }";
}

class QuantizeWeights : public testing::Test {
 protected:
  QuantizedModel Quantize(const std::string& graph, int64_t bits = 8) {
    const std::string bytes = ModelBytes(
        absl::StrCat("graph { name: 'g' ", graph,
                     ValueText("input", "x", 1, "dim { dim_value: 1 } dim { dim_value: 64 }"),
                     ValueText("output", "y", 1, ""), " }"));
    std::ofstream(folder_.path() + "/from.onnx", std::ios::binary) << bytes;
    auto result = onnx::QuantizeWeights(folder_.path() + "/from.onnx", folder_.path() + "/to.onnx",
                                        {bits, 32});
    EXPECT_TRUE(result.ok()) << result.status();
    auto file = ReadModelFile(folder_.path() + "/to.onnx");
    EXPECT_TRUE(file.ok()) << file.status();
    model_ = *file->proto;
    return *std::move(result);
  }

  std::vector<std::string> Operators() const {
    std::vector<std::string> names;
    for (const NodeProto& node : model_.graph().node()) names.push_back(node.op_type());
    return names;
  }

  std::vector<std::string> Initializers() const {
    std::vector<std::string> names;
    for (const TensorProto& tensor : model_.graph().initializer()) names.push_back(tensor.name());
    return names;
  }

  TemporaryDirectory folder_;
  ModelProto model_;
};

TEST_F(QuantizeWeights, ReplacesProductsAndDropsTheirFactors) {
  const QuantizedModel result =
      Quantize(Initializer("w", 64, 70) + NodeText("MatMul", {"x", "w"}, {"y"}), 4);
  EXPECT_THAT(Operators(), ElementsAre("MatMulNBits"));
  EXPECT_THAT(Initializers(), ElementsAre("w_q4", "w_q4_scales"));
  ASSERT_EQ(result.tensors.size(), 1u);
  EXPECT_EQ(result.tensors[0].name, "w");
  EXPECT_EQ(result.tensors[0].bits, 4);
  EXPECT_EQ(result.bytes_before, 64 * 70 * 4);
  EXPECT_EQ(result.bytes_after, 70 * 64 / 2 + 70 * 2 * 4);
  EXPECT_EQ(model_.opset_import(1).domain(), "com.microsoft");
}

TEST_F(QuantizeWeights, FoldsWhatGemmMultipliesByAndAddsWhatItAdds) {
  Quantize(Initializer("w", 70, 64) + Initializer("b", 1, 70) +
           NodeText("Gemm", {"x", "w", "b"}, {"y"},
                    "attribute { name: 'transB' type: INT i: 1 } "
                    "attribute { name: 'alpha' type: FLOAT f: 2 }"));
  EXPECT_THAT(Operators(), ElementsAre("MatMulNBits", "Add"));
  const NodeProto& add = model_.graph().node(1);
  EXPECT_EQ(add.input(0), model_.graph().node(0).output(0));
  EXPECT_EQ(add.input(1), "b");
  EXPECT_EQ(add.output(0), "y");
}

TEST_F(QuantizeWeights, SeesThroughATransposeAndKeepsWhatElseIsRead) {
  const std::string lookup = NodeText("Gather", {"w", "i"}, {"row"});
  const QuantizedModel result = Quantize(
      Initializer("w", 70, 64) + "initializer { name: 'i' data_type: 7 dims: 1 int64_data: 3 }" +
      lookup + NodeText("Transpose", {"w"}, {"t"}) + NodeText("Add", {"x", "row"}, {"s"}) +
      NodeText("MatMul", {"s", "t"}, {"y"}));
  EXPECT_THAT(Operators(), ElementsAre("Gather", "Add", "MatMulNBits"));
  EXPECT_THAT(Initializers(), ElementsAre("w", "i", "w_q8", "w_q8_scales"));
  EXPECT_THAT(result.kept, IsEmpty());
}

TEST_F(QuantizeWeights, LeavesWhatIsSmallOrComputed) {
  const QuantizedModel result =
      Quantize(Initializer("w", 64, 8) + NodeText("MatMul", {"x", "w"}, {"p"}) +
               NodeText("Transpose", {"p"}, {"t"}) + NodeText("MatMul", {"p", "t"}, {"y"}));
  EXPECT_THAT(Operators(), ElementsAre("MatMul", "Transpose", "MatMul"));
  EXPECT_THAT(result.kept, ElementsAre("w"));
  EXPECT_THAT(result.tensors, IsEmpty());
  EXPECT_EQ(model_.opset_import_size(), 1);
}

}  // namespace
}  // namespace tartan::onnx::quantize_weights_test
