// SPDX-License-Identifier: Apache-2.0
// Tests of Microsoft's transformer operators besides attention, on numbers that can be checked by
// hand.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_results.h"

namespace tartan::onnx::microsoft_transformer_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

const HostTensor kNone;

std::string Int(const std::string& name, int64_t value) { return Attribute(name, value); }

OperatorCall Call(const std::string& op, std::vector<api::HostValue> inputs,
                  const std::string& fields = "", int outputs = 1) {
  return {op, 1, std::move(inputs), fields, outputs, "com.microsoft"};
}

TEST(EmbedLayerNormalization, AddsItsTablesAndCountsTheMask) {
  const HostTensor table = Values({2, 2}, {1, 2, 10, 20});
  const OperatorCall call =
      Call("EmbedLayerNormalization",
           {Values({1, 2}, {1, 0}, DataType::kInt32), Values({1, 2}, {0, 1}, DataType::kInt32),
            table, Values({2, 2}, {0, 3, 5, 0}), Values({2, 2}, {0, 0, 100, 100}),
            Values({2}, {2, 2}), Values({2}, {1, 1}), Values({1, 2}, {1, 0}, DataType::kInt32)},
           Attribute("epsilon", 0.0f), 3);
  EXPECT_THAT(Evaluate(call, 2), ElementsAre(10, 23, 106, 102));
  EXPECT_THAT(Evaluate(call), Pointwise(DoubleNear(1e-5), {-1.0, 3.0, 3.0, -1.0}));
  EXPECT_THAT(Evaluate(call, 1), ElementsAre(1));
}

TEST(EmbedLayerNormalization, NamesAnOperandThatIsMissing) {
  EXPECT_THAT(Error(Call("EmbedLayerNormalization",
                         {Values({1, 1}, {0}, DataType::kInt32), kNone, Values({1, 1}, {0})})),
              HasSubstr("operand 3 is missing"));
}

TEST(Gelus, TakeABias) {
  const HostTensor x = Values({1, 2}, {0, 1});
  const HostTensor bias = Values({2}, {1, -2});
  const auto normal = [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); };
  EXPECT_THAT(Evaluate(Call("BiasGelu", {x, bias})),
              Pointwise(DoubleNear(1e-5), {normal(1), normal(-1)}));
  EXPECT_THAT(Evaluate(Call("FastGelu", {x, bias})),
              Pointwise(DoubleNear(1e-3), {normal(1), normal(-1)}));
  EXPECT_THAT(Evaluate(Call("QuickGelu", {x}, Attribute("alpha", 2.0f))),
              Pointwise(DoubleNear(1e-5), {0.0, 1 / (1 + std::exp(-2.0))}));
}

TEST(FusedConv, AddsASumAndFollowsWithItsActivation) {
  const std::vector<api::HostValue> inputs = {Values({1, 1, 3}, {1, -2, 3}), Values({1, 1, 1}, {2}),
                                              Values({1}, {1}), Values({1, 1, 3}, {0, 0, -10})};
  EXPECT_THAT(Evaluate(Call("FusedConv", inputs, Attribute("activation", std::string("Relu")))),
              ElementsAre(3, 0, 0));
  EXPECT_THAT(Error(Call("FusedConv", inputs, Attribute("activation", std::string("Wiggle")))),
              HasSubstr("activation 'Wiggle'"));
}

TEST(FusedGemm, FollowsWithItsActivation) {
  EXPECT_THAT(Evaluate(Call("FusedGemm", {Values({1, 1}, {-2}), Values({1, 2}, {1, -1})},
                            Attribute("activation", std::string("LeakyRelu")) +
                                Attribute("activation_alpha", 0.5f))),
              ElementsAre(-1, 2));
}

// K = 18 makes two blocks of 16; most of the second is padding.
constexpr int64_t kInner = 18;
constexpr int64_t kBlock = 16;

TEST(MatMulNBits, ReadsFourBitsWithTheLowestFirst) {
  // Byte j contains 2j and 2j + 1 (modulo 16), so weight k is k % 16.
  std::vector<double> bytes;
  for (int64_t j = 0; j < kBlock; ++j) {
    bytes.push_back(static_cast<double>(2 * j % 16 + 16 * ((2 * j + 1) % 16)));
  }
  std::vector<double> a(kInner, 0);
  a[3] = 1;
  a[17] = 100;
  const std::string fields = Int("K", kInner) + Int("N", 1) + Int("block_size", kBlock);
  const HostTensor weights = Values({1, 2, 8}, bytes, DataType::kUInt8);
  const HostTensor scales = Values({1, 2}, {2, 0.5});
  const HostTensor x = Values({1, kInner}, a);
  // Without zero points, the zero point is 8.
  EXPECT_THAT(Evaluate(Call("MatMulNBits", {x, weights, scales}, fields)),
              ElementsAre(2 * (3 - 8) + 100 * 0.5 * (1 - 8)));
  // Zero points 1 and 4 in one byte.
  EXPECT_THAT(
      Evaluate(Call("MatMulNBits",
                    {x, weights, scales, Values({1, 1}, {1 + 16 * 4}, DataType::kUInt8)}, fields)),
      ElementsAre(2 * (3 - 1) + 100 * 0.5 * (1 - 4)));
  EXPECT_THAT(Evaluate(Call("MatMulNBits",
                            {x, weights, scales, Values({1, 2}, {0.5, 1}), kNone, Values({1}, {7})},
                            fields)),
              ElementsAre(2 * (3 - 0.5) + 0 + 7));
}

TEST(MatMulNBits, ReadsEightAndTwoBits) {
  std::vector<double> a(kBlock, 0);
  a[5] = 1;
  std::vector<double> bytes(kBlock, 0);
  bytes[5] = 200;
  const HostTensor x = Values({1, kBlock}, a);
  const std::string fields = Int("K", kBlock) + Int("N", 1) + Int("block_size", kBlock);
  EXPECT_THAT(
      Evaluate(Call("MatMulNBits",
                    {x, Values({1, 1, kBlock}, bytes, DataType::kUInt8), Values({1}, {0.5})},
                    fields + Int("bits", 8))),
      ElementsAre(36));
  EXPECT_THAT(
      Evaluate(Call("MatMulNBits",
                    {x, Values({1, 1, 4}, {0, 3 << 2, 0, 0}, DataType::kUInt8), Values({1}, {10})},
                    fields + Int("bits", 2))),
      ElementsAre(10));
}

// Small deterministic values.
std::vector<double> Pattern(int64_t count, int64_t factor, int64_t modulus) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i * factor % modulus));
  return values;
}

// The result by the operator's definition. `bytes` is [n, k / block, block / 2]; zero points are
// unpacked.
std::vector<double> NibbleProduct(const std::vector<double>& x, const std::vector<double>& bytes,
                                  const std::vector<double>& scales,
                                  const std::vector<double>& zeros,
                                  const std::vector<int64_t>& groups, int64_t k, int64_t n) {
  const int64_t blocks = k / kBlock;
  std::vector<double> sums(n, 0);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < k; ++i) {
      const auto byte = static_cast<int64_t>(bytes[(j * k + i) / 2]);
      const double number = static_cast<double>(i % 2 == 0 ? byte % 16 : byte / 16);
      const int64_t group = j * blocks + groups[i];
      sums[j] += x[i] * (number - zeros[group]) * scales[group];
    }
  }
  return sums;
}

TEST(MatMulNBits, TakesMoreResultsThanATileAndGroupsOfRows) {
  constexpr int64_t k = 2 * kBlock;
  constexpr int64_t n = 67;
  const std::vector<double> x = Pattern(k, 7, 5);
  const std::vector<double> bytes = Pattern(n * k / 2, 37, 256);
  const std::vector<double> scales = Pattern(n * 2, 3, 4);
  const std::vector<double> packed = Pattern(n, 29, 256);
  std::vector<double> zeros;
  for (const double byte : packed) {
    zeros.push_back(static_cast<double>(static_cast<int64_t>(byte) % 16));
    zeros.push_back(static_cast<double>(static_cast<int64_t>(byte) / 16));
  }
  std::vector<int64_t> in_order;
  std::vector<int64_t> mixed;
  for (int64_t i = 0; i < k; ++i) in_order.push_back(i / kBlock);
  for (int64_t i = 0; i < k; ++i) mixed.push_back(i * 5 % 3 == 0 ? 1 : 0);
  const std::string fields = Int("K", k) + Int("N", n) + Int("block_size", kBlock);
  std::vector<api::HostValue> inputs = {
      Values({1, k}, x), Values({n, 2, kBlock / 2}, bytes, DataType::kUInt8),
      Values({n * 2}, scales), Values({n}, packed, DataType::kUInt8)};
  EXPECT_THAT(Evaluate(Call("MatMulNBits", inputs, fields)),
              Pointwise(DoubleNear(1e-3), NibbleProduct(x, bytes, scales, zeros, in_order, k, n)));
  inputs.push_back(Values({k}, std::vector<double>(mixed.begin(), mixed.end()), DataType::kInt32));
  EXPECT_THAT(Evaluate(Call("MatMulNBits", inputs, fields)),
              Pointwise(DoubleNear(1e-3), NibbleProduct(x, bytes, scales, zeros, mixed, k, n)));
  inputs.back() = Values({3}, {0, 0, 0}, DataType::kInt32);
  EXPECT_THAT(Error(Call("MatMulNBits", inputs, fields)),
              HasSubstr("positions of groups int32[3]"));
}

// The result by the operator's definition for values of `bits` bits, lowest bits of a byte first.
// Zero points are unpacked, and may be empty.
std::vector<double> BlockedProduct(const std::vector<double>& x, const std::vector<double>& bytes,
                                   const std::vector<double>& scales,
                                   const std::vector<double>& zeros, int64_t rows, int64_t k,
                                   int64_t n, int64_t bits, int64_t block) {
  const int64_t blocks = (k + block - 1) / block;
  const int64_t parts = 8 / bits;
  std::vector<double> sums(rows * n, 0);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < k; ++i) {
        const auto byte = static_cast<int64_t>(bytes[(j * blocks * block + i) / parts]);
        const int64_t number = (byte >> (i % parts * bits)) % (1 << bits);
        const int64_t at = j * blocks + i / block;
        const double zero = zeros.empty() ? 1 << (bits - 1) : zeros[at];
        sums[r * n + j] += x[r * k + i] * (static_cast<double>(number) - zero) * scales[at];
      }
    }
  }
  return sums;
}

// K is not a multiple of the block, and N exceeds a tile.
void ExpectDefinition(int64_t bits, int64_t block, bool has_zeros, int64_t rows) {
  const int64_t k = 2 * block + 7;
  constexpr int64_t n = 71;
  constexpr int64_t blocks = 3;
  const std::vector<double> x = Pattern(rows * k, 7, 5);
  const std::vector<double> bytes = Pattern(n * blocks * block * bits / 8, 37, 256);
  const std::vector<double> scales = Pattern(n * blocks, 3, 4);
  std::vector<api::HostValue> inputs = {
      Values({rows, k}, x), Values({n, blocks, block * bits / 8}, bytes, DataType::kUInt8),
      Values({n, blocks}, scales)};
  std::vector<double> zeros;
  if (has_zeros) {
    const int64_t columns = (blocks * bits + 7) / 8;
    const std::vector<double> packed = Pattern(n * columns, 29, 256);
    inputs.push_back(Values({n, columns}, packed, DataType::kUInt8));
    for (int64_t i = 0; i < blocks * n; ++i) {
      const int64_t bit = i % blocks * bits;
      const auto byte = static_cast<int64_t>(packed[i / blocks * columns + bit / 8]);
      zeros.push_back(static_cast<double>((byte >> (bit % 8)) % (1 << bits)));
    }
  }
  const std::string fields =
      Int("K", k) + Int("N", n) + Int("block_size", block) + Int("bits", bits);
  EXPECT_THAT(
      Evaluate(Call("MatMulNBits", inputs, fields)),
      Pointwise(DoubleNear(1e-3), BlockedProduct(x, bytes, scales, zeros, rows, k, n, bits, block)))
      << bits << " bits, blocks of " << block << ", " << rows << " rows";
}

TEST(MatMulNBits, IsWhatItsDefinitionSaysForAllBlocksAndOddSizes) {
  for (const int64_t block : {16, 32, 64, 128}) {
    for (const int64_t rows : {1, 5, 16}) {
      for (const int64_t bits : {2, 4, 8}) {
        ExpectDefinition(bits, block, false, rows);
        ExpectDefinition(bits, block, true, rows);
      }
    }
  }
}

TEST(MatMulNBits, RefusesSizesThatDoNotFit) {
  const std::string fields = Int("K", kBlock) + Int("N", 2) + Int("block_size", kBlock);
  EXPECT_THAT(
      Error(Call("MatMulNBits",
                 {Values({1, 2}, {0, 0}), Values({1}, {0}, DataType::kUInt8), Values({1}, {0})},
                 fields)),
      HasSubstr("operand 0 is float32[1, 2], expected rows of 16"));
  EXPECT_THAT(
      Error(Call("MatMulNBits",
                 {Values({1, 2}, {0, 0}), Values({1}, {0}, DataType::kUInt8), Values({1}, {0})},
                 Int("K", 2) + Int("N", 1) + Int("block_size", 3))),
      HasSubstr("in blocks of 3"));
}

TEST(BiasSplitGelu, GatesTheFirstHalfByTheSecond) {
  const double gelu = 0.5 * (1 + std::erf(1 / std::sqrt(2.0)));
  EXPECT_THAT(Evaluate(Call("BiasSplitGelu",
                            {Values({1, 1, 4}, {1, 2, 0, 3}), Values({4}, {2, 0, 1, -3})})),
              Pointwise(DoubleNear(1e-5), {3 * gelu, 0.0}));
  EXPECT_THAT(Error(Call("BiasSplitGelu", {Values({1, 1, 1}, {1}), Values({1}, {2})})),
              HasSubstr("cannot halve the last dimension of float32[1, 1, 1]"));
}

TEST(GroupNorm, NormalizesTheSameWhereverTheChannelsAre) {
  const std::string fields = Int("groups", 2) + Int("activation", 0) + Attribute("epsilon", 0.0f);
  const HostTensor gamma = Values({2}, {1, 10});
  const HostTensor beta = Values({2}, {0, 5});
  EXPECT_THAT(Evaluate(Call("GroupNorm", {Values({1, 2, 2}, {1, 7, 3, 9}), gamma, beta}, fields)),
              Pointwise(DoubleNear(1e-5), {-1.0, -5.0, 1.0, 15.0}));
  EXPECT_THAT(Evaluate(Call("GroupNorm", {Values({1, 2, 2}, {1, 3, 7, 9}), gamma, beta},
                            fields + Int("channels_last", 0))),
              Pointwise(DoubleNear(1e-5), {-1.0, 1.0, -5.0, 15.0}));
  EXPECT_THAT(Error(Call("GroupNorm", {Values({1, 1, 3}, {1, 2, 3}), gamma, beta}, fields)),
              HasSubstr("groups 2 do not divide channels 3"));
}

TEST(MicrosoftForms, AreThoseOfOnnx) {
  const HostTensor x = Values({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(Evaluate(Call("Trilu", {x})), ElementsAre(1, 2, 0, 4));
  EXPECT_THAT(Evaluate(Call("GatherND", {x, Values({1, 2}, {1, 0}, DataType::kInt64)})),
              ElementsAre(3));
  EXPECT_THAT(
      Evaluate(Call("DequantizeLinear", {Values({2}, {7, 3}, DataType::kUInt8), Values({}, {0.5}),
                                         Values({}, {5}, DataType::kUInt8)})),
      ElementsAre(1, -1));
  const auto expanded = RunOperator(Call("ExpandDims", {x, Values({}, {1}, DataType::kInt32)}));
  ASSERT_TRUE(expanded.ok()) << expanded.status();
  EXPECT_THAT(expanded->at(0).shape().dims, ElementsAre(2, 1, 2));
}

}  // namespace
}  // namespace tartan::onnx::microsoft_transformer_test
