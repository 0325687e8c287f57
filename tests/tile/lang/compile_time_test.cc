// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/compile_time.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::lang {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

CompileTimeScalar Int(int64_t value) { return {value}; }
CompileTimeScalar Real(double value) { return {value}; }

int64_t FoldInt(absl::string_view function, std::vector<CompileTimeScalar> operands) {
  const auto folded = FoldCall(function, operands);
  EXPECT_TRUE(folded.ok() && folded->has_value()) << function;
  return std::get<int64_t>((*folded)->value);
}

double FoldReal(absl::string_view function, std::vector<CompileTimeScalar> operands) {
  const auto folded = FoldCall(function, operands);
  EXPECT_TRUE(folded.ok() && folded->has_value()) << function;
  return std::get<double>((*folded)->value);
}

TEST(FoldCall, ComputesExactIntegers) {
  EXPECT_EQ(FoldInt("add", {Int(kMax - 1), Int(1)}), kMax);
  EXPECT_EQ(FoldInt("sub", {Int(kMin + 1), Int(1)}), kMin);
  EXPECT_EQ(FoldInt("mul", {Int(3037000499), Int(3037000499)}), 9223372030926249001);
  EXPECT_EQ(FoldInt("pow", {Int(3), Int(4)}), 81);
  EXPECT_EQ(FoldInt("max", {Int(3), Int(-4)}), 3);
  EXPECT_EQ(FoldInt("min", {Int(3), Int(-4)}), -4);
  EXPECT_EQ(FoldInt("neg", {Int(3)}), -3);
  EXPECT_EQ(FoldInt("abs", {Int(-3)}), 3);
  EXPECT_EQ(FoldInt("sign", {Int(-3)}), -1);
  EXPECT_EQ(FoldInt("ceil", {Int(3)}), 3);
  EXPECT_EQ(FoldInt("cond", {Int(0), Int(1), Int(2)}), 2);
}

TEST(FoldCall, TruncatesDivisionAndFloorsModulo) {
  EXPECT_EQ(FoldInt("div", {Int(7), Int(2)}), 3);
  EXPECT_EQ(FoldInt("div", {Int(-7), Int(2)}), -3);
  EXPECT_EQ(FoldInt("mod", {Int(-7), Int(3)}), 2);
  EXPECT_EQ(FoldInt("mod", {Int(7), Int(-3)}), -2);
  EXPECT_EQ(FoldInt("fmod", {Int(-7), Int(3)}), -1);
  EXPECT_EQ(FoldInt("mod", {Int(kMin), Int(-1)}), 0);
}

TEST(FoldCall, ShiftsAsRegistersWithoutAnEnd) {
  EXPECT_EQ(FoldInt("bit_left", {Int(1), Int(40)}), int64_t{1} << 40);
  EXPECT_EQ(FoldInt("bit_right", {Int(-8), Int(1)}), -4);
  EXPECT_EQ(FoldInt("bit_right", {Int(-8), Int(100)}), -1);
  EXPECT_EQ(FoldInt("bit_right", {Int(8), Int(100)}), 0);
}

TEST(FoldCall, AnswersComparisonsWithBooleans) {
  const auto folded = FoldCall("cmp_lt", {Int(3), Real(3.5)});
  ASSERT_TRUE(folded.ok() && folded->has_value());
  EXPECT_TRUE((*folded)->is_bool);
  EXPECT_TRUE((*folded)->IsTrue());
  EXPECT_EQ(FoldInt("logical_not", {Real(0.0)}), 1);
  EXPECT_EQ(FoldInt("logical_and", {Int(2), Int(0)}), 0);
}

TEST(FoldCall, ComputesWithBooleansAsPrograms) {
  const CompileTimeScalar yes{int64_t{1}, true};
  EXPECT_EQ(FoldInt("bit_not", {yes}), 0);
  EXPECT_EQ(FoldInt("add", {yes, yes}), 1);
  EXPECT_EQ(FoldInt("add", {yes, Int(1)}), 2);
  EXPECT_EQ(*FoldCall("bit_left", {yes, yes}), std::nullopt);
}

TEST(FoldCall, UsesDoublesWhereOneOperandIsOne) {
  EXPECT_EQ(FoldReal("div", {Int(1), Real(4)}), 0.25);
  EXPECT_EQ(FoldReal("sqrt", {Int(16)}), 4.0);
  EXPECT_EQ(FoldReal("ceil", {Real(2.5)}), 3.0);
  EXPECT_TRUE(std::isnan(FoldReal("max", {Real(NAN), Real(1)})));
  EXPECT_TRUE(std::isnan(FoldReal("min", {Real(1), Real(NAN)})));
}

TEST(FoldCall, LeavesOtherFunctionsToTheProgram) {
  EXPECT_EQ(*FoldCall("erf", {Real(1)}), std::nullopt);
  EXPECT_EQ(*FoldCall("no_such", {Real(1)}), std::nullopt);
  EXPECT_EQ(*FoldCall("add", {Real(1)}), std::nullopt);
}

TEST(FoldCall, NeverWrapsAround) {
  EXPECT_FALSE(FoldCall("add", {Int(kMax), Int(1)}).ok());
  EXPECT_FALSE(FoldCall("sub", {Int(kMin), Int(1)}).ok());
  EXPECT_FALSE(FoldCall("mul", {Int(kMax), Int(2)}).ok());
  EXPECT_FALSE(FoldCall("neg", {Int(kMin)}).ok());
  EXPECT_FALSE(FoldCall("abs", {Int(kMin)}).ok());
  EXPECT_FALSE(FoldCall("div", {Int(kMin), Int(-1)}).ok());
  EXPECT_FALSE(FoldCall("div", {Int(1), Int(0)}).ok());
  EXPECT_FALSE(FoldCall("mod", {Int(1), Int(0)}).ok());
  EXPECT_FALSE(FoldCall("bit_left", {Int(1), Int(63)}).ok());
  EXPECT_FALSE(FoldCall("bit_right", {Int(8), Int(-1)}).ok());
  EXPECT_FALSE(FoldCall("pow", {Int(10), Int(19)}).ok());
}

TEST(CompileTimeScalar, IsAnIntegerOnlyWithoutAFraction) {
  EXPECT_EQ(Real(3.0).AsInteger(), 3);
  EXPECT_EQ(Real(3.5).AsInteger(), std::nullopt);
  EXPECT_EQ(Real(1e300).AsInteger(), std::nullopt);
  EXPECT_EQ(Real(NAN).AsInteger(), std::nullopt);
}

}  // namespace
}  // namespace tartan::lang
