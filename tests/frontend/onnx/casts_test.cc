// SPDX-License-Identifier: Apache-2.0
// Tests of type conversions beyond the official cases: all patterns of small float types, ties,
// out-of-range values, strings, bits.
#include <cmath>
#include <cstring>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx::casts_test {
namespace {

using api::Element;
using api::HostValue;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Values of TensorProto.DataType.
constexpr int64_t kFloat = 1;
constexpr int64_t kInt32 = 6;
constexpr int64_t kString = 8;
constexpr int64_t kUInt4 = 21;
constexpr int64_t kInt4 = 22;
constexpr int64_t kE8M0 = 24;
constexpr int64_t kInt2 = 26;

HostValue EvaluateFirst(const OperatorCall& call) {
  const auto outputs = RunOperatorValues(call);
  if (outputs.ok()) return outputs->at(0);
  ADD_FAILURE() << outputs.status();
  return HostValue(Values({0}, {}));
}

HostValue Cast(const HostValue& x, int64_t to, const std::string& fields = "") {
  return EvaluateFirst({"Cast", 25, {x}, Attribute("to", to) + fields});
}

HostValue Narrow(Element element, const std::vector<double>& stored) {
  return HostValue(Values({static_cast<int64_t>(stored.size())}, stored, api::StorageType(element)),
                   element);
}

HostValue Floats(const std::vector<double>& values) {
  return HostValue(Values({static_cast<int64_t>(values.size())}, values));
}

struct Format {
  Element element;
  int64_t type;
  int greatest;  // largest bit patterns
  double greatest_number;
  double least_number;
};
constexpr Format kFormats[] = {
    {Element::kFloat8E4M3FN, 17, 0x7E, 448, 0x1p-9},
    {Element::kFloat8E4M3FNUZ, 18, 0x7F, 240, 0x1p-10},
    {Element::kFloat8E5M2, 19, 0x7B, 57344, 0x1p-16},
    {Element::kFloat8E5M2FNUZ, 20, 0x7F, 57344, 0x1p-17},
    {Element::kFloat6E2M3, 27, 0x1F, 7.5, 0.125},
    {Element::kFloat6E3M2, 28, 0x1F, 28, 0.0625},
    {Element::kFloat4E2M1, 23, 0x7, 6, 0.5},
};

// The values of the bit patterns from 0 to the largest finite one, in ascending order.
std::vector<double> EncodeElements(const Format& format) {
  std::vector<double> patterns;
  for (int i = 0; i <= format.greatest; ++i) patterns.push_back(i);
  return Cast(Narrow(format.element, patterns), kFloat).tensor().ToDoubles();
}

TEST(Cast, ReadsTheEndsOfEveryNarrowFormat) {
  for (const Format& format : kFormats) {
    const std::vector<double> numbers = EncodeElements(format);
    EXPECT_EQ(numbers[0], 0);
    EXPECT_EQ(numbers[1], format.least_number);
    EXPECT_EQ(numbers.back(), format.greatest_number);
    for (size_t i = 1; i < numbers.size(); ++i) EXPECT_LT(numbers[i - 1], numbers[i]);
  }
}

TEST(Cast, RoundsToTheNearestPatternAndTiesToEvenOnes) {
  for (const Format& format : kFormats) {
    const std::vector<double> numbers = EncodeElements(format);
    std::vector<double> x;
    std::vector<double> expected;
    for (size_t i = 0; i + 1 < numbers.size(); ++i) {
      const float middle = static_cast<float>((numbers[i] + numbers[i + 1]) / 2);
      const double low = static_cast<double>(i);
      x.insert(x.end(),
               {numbers[i], std::nextafter(middle, 0.0F), middle, std::nextafter(middle, 1e6F)});
      expected.insert(expected.end(), {low, low, i % 2 == 0 ? low : low + 1, low + 1});
    }
    EXPECT_EQ(Cast(Floats(x), format.type).tensor().ToDoubles(), expected)
        << api::Name(format.element);
  }
}

TEST(Cast, SaturatesOrNot) {
  const HostValue x = Floats({1e9, -1e9, kInfinity, -kInfinity, std::nan(""), -0.0});
  const std::string no = Attribute("saturate", int64_t{0});
  EXPECT_THAT(Cast(x, 17).tensor().ToInts(), ElementsAre(0x7E, 0xFE, 0x7E, 0xFE, 0x7F, 0x80));
  EXPECT_THAT(Cast(x, 17, no).tensor().ToInts(), ElementsAre(0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0x80));
  EXPECT_THAT(Cast(x, 18).tensor().ToInts(), ElementsAre(0x7F, 0xFF, 0x7F, 0xFF, 0x80, 0));
  EXPECT_THAT(Cast(x, 18, no).tensor().ToInts(), ElementsAre(0x80, 0x80, 0x80, 0x80, 0x80, 0));
  EXPECT_THAT(Cast(x, 19).tensor().ToInts(), ElementsAre(0x7B, 0xFB, 0x7B, 0xFB, 0x7E, 0x80));
  EXPECT_THAT(Cast(x, 19, no).tensor().ToInts(), ElementsAre(0x7C, 0xFC, 0x7C, 0xFC, 0x7E, 0x80));
}

TEST(Cast, RoundsToPowersOfTwoUpDownOrToTheNearest) {
  const HostValue x = Floats({1, 1.25, 1.5, 3, 0x1p-126, 3e38, 0.7});
  const auto with = [&](const std::string& mode) {
    return Cast(x, kE8M0, Attribute("round_mode", mode)).tensor().ToInts();
  };
  EXPECT_THAT(with("up"), ElementsAre(127, 128, 128, 129, 1, 254, 127));
  EXPECT_THAT(with("down"), ElementsAre(127, 127, 127, 128, 1, 254, 126));
  EXPECT_THAT(with("nearest"), ElementsAre(127, 127, 128, 129, 1, 254, 126));
  EXPECT_THAT(Cast(Floats({0, kInfinity, std::nan("")}), kE8M0).tensor().ToInts(),
              ElementsAre(0, 254, 255));
  EXPECT_THAT(Cast(Floats({0, kInfinity, std::nan("")}), kE8M0, Attribute("saturate", int64_t{0}))
                  .tensor()
                  .ToInts(),
              ElementsAre(255, 255, 255));
  EXPECT_THAT(Error({"Cast", 25, {x}, Attribute("to", kE8M0) + Attribute("round_mode", "odd")}),
              HasSubstr("expected up, down or nearest, got odd"));
}

TEST(Cast, KeepsTheLowestBitsOfIntegers) {
  const HostValue x(Values({6}, {7, 8, 15, 16, -1, -9}, DataType::kInt32));
  EXPECT_THAT(Cast(x, kInt4).tensor().ToInts(), ElementsAre(7, -8, -1, 0, -1, 7));
  EXPECT_THAT(Cast(x, kUInt4).tensor().ToInts(), ElementsAre(7, 8, 15, 0, 15, 7));
  EXPECT_THAT(Cast(x, kInt2).tensor().ToInts(), ElementsAre(-1, 0, -1, 0, -1, -1));
  EXPECT_THAT(Cast(Narrow(Element::kInt4, {-8, 7}), kInt32).tensor().ToInts(), ElementsAre(-8, 7));
  EXPECT_EQ(Cast(Narrow(Element::kUInt4, {}), kFloat).tensor().shape().ToString(), "float32[0]");
}

TEST(Cast, ReadsAndWritesNumbersAsStrings) {
  const HostValue words = api::HostStrings({5}, {"1.5", "-inf", "1E3", "+INF", "NaN"});
  const std::vector<double> numbers = Cast(words, kFloat).tensor().ToDoubles();
  EXPECT_THAT(std::vector<double>(numbers.begin(), numbers.begin() + 4),
              ElementsAre(1.5, -kInfinity, 1000, kInfinity));
  EXPECT_TRUE(std::isnan(numbers[4]));
  EXPECT_THAT(Cast(api::HostStrings({2}, {"100.5", "-7"}), kInt32).tensor().ToInts(),
              ElementsAre(100, -7));
  EXPECT_THAT(api::StringsOf(Cast(Floats({0.1, 3, kInfinity, std::nan("")}), kString)),
              ElementsAre("0.1", "3.0", "INF", "NaN"));
  EXPECT_THAT(api::StringsOf(Cast(HostValue(Values({2}, {-3, 4}, DataType::kInt8)), kString)),
              ElementsAre("-3", "4"));
  EXPECT_THAT(Error({"Cast", 13, {api::HostStrings({1}, {"three"})}, Attribute("to", kFloat)}),
              HasSubstr("'three' is not a number"));
}

TEST(Cast, NamesTypesInItsFirstForm) {
  const HostValue x = Floats({1.75, -2.5});
  EXPECT_THAT(EvaluateFirst({"Cast", 1, {x}, Attribute("to", "INT32")}).tensor().ToInts(),
              ElementsAre(1, -2));
  EXPECT_THAT(Error({"Cast", 1, {x}, Attribute("to", "INT5")}), HasSubstr("unknown type INT5"));
}

TEST(CastLike, TakesTheTypeOfNarrowNumbers) {
  const HostValue y =
      EvaluateFirst({"CastLike", 25, {Floats({1, -1}), Narrow(Element::kFloat8E5M2, {0})}});
  EXPECT_EQ(y.element(), Element::kFloat8E5M2);
  EXPECT_THAT(y.tensor().ToInts(), ElementsAre(0x3C, 0xBC));
}

TEST(BitCast, KeepsEveryBit) {
  const std::vector<uint32_t> bits = {0x7FC01234, 0x80000000, 1};
  const HostTensor patterns = HostTensor::FromVector({DataType::kUInt32, {3}}, bits);
  const HostValue floats = EvaluateFirst({"BitCast", 26, {patterns}, Attribute("to", kFloat)});
  EXPECT_EQ(floats.tensor().type(), DataType::kFloat32);
  EXPECT_EQ(std::memcmp(floats.tensor().bytes().data(), bits.data(), 12), 0);
  const HostValue narrow =
      EvaluateFirst({"BitCast", 26, {Narrow(Element::kUInt4, {15, 7})}, Attribute("to", kInt4)});
  EXPECT_THAT(narrow.tensor().ToInts(), ElementsAre(-1, 7));
  EXPECT_THAT(Error({"BitCast", 26, {patterns}, Attribute("to", int64_t{3})}),
              HasSubstr("uint32 and int8 have different numbers of bits"));
}

TEST(QuantizeLinear, CutsOffAtTheEndsOfFourBits) {
  const HostValue y = EvaluateFirst(
      {"QuantizeLinear",
       21,
       {Floats({-100, -3, 2.5, 3.5, 100}), Values({}, {1}), Narrow(Element::kInt4, {0})}});
  EXPECT_EQ(y.element(), Element::kInt4);
  EXPECT_THAT(y.tensor().ToInts(), ElementsAre(-8, -3, 2, 4, 7));
}

TEST(QuantizeLinear, RefusesAnotherTypeThanThatOfTheZeroPoint) {
  EXPECT_THAT(Error({"QuantizeLinear",
                     21,
                     {Floats({1}), Values({}, {1}), Narrow(Element::kInt4, {0})},
                     Attribute("output_dtype", kUInt4)}),
              HasSubstr("'output_dtype' is uint4, the zero point is of int4"));
}

TEST(DequantizeLinear, TakesALastBlockThatIsCutOff) {
  const HostValue y = EvaluateFirst(
      {"DequantizeLinear",
       21,
       {HostValue(Values({1, 5}, {1, 2, 3, 4, 5}, DataType::kInt8)), Values({1, 3}, {1, 10, 100}),
        HostValue(Values({1, 3}, {1, 0, 0}, DataType::kInt8))},
       Attribute("axis", int64_t{1}) + Attribute("block_size", int64_t{2})});
  EXPECT_THAT(y.tensor().ToDoubles(), ElementsAre(0, 1, 30, 40, 500));
}

TEST(ConstantOfShape, FillsWithNarrowNumbers) {
  const HostValue y =
      EvaluateFirst({"ConstantOfShape",
                     24,
                     {HostValue(Values({1}, {3}, DataType::kInt64))},
                     "attribute { name: 'value' type: TENSOR t { dims: 1 data_type: 22 "
                     "int32_data: 14 } }"});
  EXPECT_EQ(y.element(), Element::kInt4);
  EXPECT_THAT(y.tensor().ToInts(), ElementsAre(-2, -2, -2));
}

TEST(QuantizeLinear, NamesAnOperandThatIsNotThere) {
  EXPECT_THAT(Error({"QuantizeLinear", 21, {HostValue(), Values({}, {1})}}),
              HasSubstr("a tensor of numbers is expected"));
  EXPECT_THAT(Error({"DequantizeLinear", 21, {api::HostStrings({1}, {"a"}), Values({}, {1})}}),
              HasSubstr("elements of type string"));
}

TEST(Pad, MovesNarrowNumbersAndStringsButHasNoStringOfItsOwn) {
  const HostValue pads(Values({2}, {1, 0}, DataType::kInt64));
  EXPECT_THAT(EvaluateFirst({"Pad", 25, {Narrow(Element::kInt4, {-8, 7}), pads}}).tensor().ToInts(),
              ElementsAre(0, -8, 7));
  const HostValue words = api::HostStrings({1}, {"b"});
  EXPECT_THAT(
      api::StringsOf(EvaluateFirst({"Pad", 25, {words, pads, api::HostStrings({}, {"a"})}})),
      ElementsAre("a", "b"));
  EXPECT_THAT(Error({"Pad", 25, {words, pads}}), HasSubstr("without a constant value"));
}

}  // namespace
}  // namespace tartan::onnx::casts_test
