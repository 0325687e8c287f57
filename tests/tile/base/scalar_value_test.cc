// SPDX-License-Identifier: Apache-2.0
#include "tile/base/scalar_value.h"

#include <cmath>

#include "gtest/gtest.h"

namespace tartan {
namespace {

using Op = ScalarOp;
using T = DataType;

int64_t I32(Op op, int64_t a, int64_t b = 0) { return ApplyInteger(op, a, b, T::kInt32); }
double Real(Op op, double a, double b = 0) { return ApplyReal(op, a, b); }

TEST(Scalar, IntegersWrapToTheirWidth) {
  EXPECT_EQ(I32(Op::kAdd, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(I32(Op::kNeg, INT32_MIN), INT32_MIN);
  EXPECT_EQ(ApplyInteger(Op::kSub, 0, 1, T::kUInt8), 255);
  EXPECT_EQ(ApplyInteger(Op::kMul, INT64_MAX, 2, T::kInt64), -2);
}

TEST(Scalar, DivisionTruncatesAndNeverTraps) {
  EXPECT_EQ(I32(Op::kDiv, -7, 2), -3);
  EXPECT_EQ(I32(Op::kDiv, 7, 0), 0);
  EXPECT_EQ(I32(Op::kDiv, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(ApplyInteger(Op::kDiv, INT64_MIN, -1, T::kInt64), INT64_MIN);
  EXPECT_EQ(ApplyInteger(Op::kDiv, -1, 2, T::kUInt64), INT64_MAX);  // (2^64 - 1) / 2
}

TEST(Scalar, RemaindersHaveTheSignTheyShould) {
  EXPECT_EQ(I32(Op::kMod, -7, 3), 2);
  EXPECT_EQ(I32(Op::kMod, 7, -3), -2);
  EXPECT_EQ(I32(Op::kFmod, -7, 3), -1);
  EXPECT_EQ(I32(Op::kFmod, 7, -3), 1);
  EXPECT_EQ(I32(Op::kMod, 5, 0), 0);
  EXPECT_EQ(I32(Op::kFmod, 5, 0), 0);
  EXPECT_EQ(ApplyInteger(Op::kMod, INT64_MIN, -1, T::kInt64), 0);
  EXPECT_EQ(ApplyInteger(Op::kMod, -1, 10, T::kUInt64), 5);  // 18446744073709551615 mod 10
  EXPECT_EQ(Real(Op::kMod, -7, 3), 2);
  EXPECT_EQ(Real(Op::kFmod, -7, 3), -1);
  EXPECT_TRUE(std::signbit(Real(Op::kMod, 4, -2)));
}

TEST(Scalar, PartsOfWordsAreSignedAndTheirProductsAddedUp) {
  EXPECT_EQ(I32(Op::kDot16, 0x00037fff, -2), 0x7fff * -2 + 3 * -1);
  EXPECT_EQ(I32(Op::kDot16, INT32_C(-0x7fff8000), INT32_C(-0x7fff8000)), INT32_MIN);  // wraps
  EXPECT_EQ(I32(Op::kDot8, 0x01027f80, 0x0304ff80), 128 * 128 - 127 + 2 * 4 + 1 * 3);
  EXPECT_EQ(I32(Op::kDot8u, 0x01027f80, 0x0304ff80), 128 * -128 - 127 + 2 * 4 + 1 * 3);
  EXPECT_EQ(I32(Op::kDot8u, -1, INT32_C(-0x7f7f7f80)), 4 * 255 * -128);  // no saturation
}

TEST(Scalar, ShiftsBeyondTheWidthLeaveTheSign) {
  EXPECT_EQ(I32(Op::kShiftLeft, 1, 31), INT32_MIN);
  EXPECT_EQ(I32(Op::kShiftLeft, 1, 32), 0);
  EXPECT_EQ(I32(Op::kShiftRight, -8, 1), -4);
  EXPECT_EQ(I32(Op::kShiftRight, -8, 40), -1);
  EXPECT_EQ(I32(Op::kShiftRight, 8, 40), 0);
  EXPECT_EQ(ApplyInteger(Op::kShiftRight, 255, 8, T::kUInt8), 0);
}

TEST(Scalar, PowersOfIntegersAreExact) {
  EXPECT_EQ(ApplyInteger(Op::kPow, 3, 39, T::kInt64), 4052555153018976267);
  EXPECT_EQ(I32(Op::kPow, 2, 32), 0);
  EXPECT_EQ(I32(Op::kPow, 0, 0), 1);
  EXPECT_EQ(I32(Op::kPow, 2, -1), 0);
  EXPECT_EQ(I32(Op::kPow, -1, -3), -1);
  EXPECT_EQ(I32(Op::kPow, 1, -3), 1);
}

TEST(Scalar, BoolCountsEverythingButZeroAsOne) {
  EXPECT_EQ(ApplyInteger(Op::kAdd, 1, 1, T::kBool), 1);
  EXPECT_EQ(ApplyInteger(Op::kMul, 1, 0, T::kBool), 0);
  EXPECT_EQ(ApplyInteger(Op::kBitNot, 1, 0, T::kBool), 0);
}

TEST(Scalar, RoundsHalfToEven) {
  EXPECT_EQ(Real(Op::kRound, 0.5), 0);
  EXPECT_EQ(Real(Op::kRound, 1.5), 2);
  EXPECT_EQ(Real(Op::kRound, -2.5), -2);
  EXPECT_EQ(Real(Op::kRound, 2.4999), 2);
}

TEST(Scalar, NaNGoesThroughMaxMinSignAndRelu) {
  for (const Op op : {Op::kMax, Op::kMin}) {
    EXPECT_TRUE(std::isnan(Real(op, NAN, 1)));
    EXPECT_TRUE(std::isnan(Real(op, 1, NAN)));
  }
  EXPECT_TRUE(std::isnan(Real(Op::kSign, NAN)));
  EXPECT_TRUE(std::isnan(Real(Op::kRelu, NAN)));
  EXPECT_EQ(Real(Op::kSign, 0), 0);
  EXPECT_EQ(Real(Op::kSign, -INFINITY), -1);
  EXPECT_EQ(Real(Op::kRelu, -INFINITY), 0);
}

TEST(Scalar, ComparisonsWithNaNAreFalseButNotEqual) {
  for (const Op op : {Op::kEqual, Op::kLess, Op::kLessEqual, Op::kGreater, Op::kGreaterEqual}) {
    EXPECT_FALSE(TestReal(op, NAN, 1));
    EXPECT_FALSE(TestReal(op, NAN, NAN));
  }
  EXPECT_TRUE(TestReal(Op::kNotEqual, NAN, NAN));
  EXPECT_TRUE(TestReal(Op::kIsInf, -INFINITY, 0));
  EXPECT_FALSE(TestReal(Op::kIsNan, INFINITY, 0));
}

TEST(Scalar, UnsignedNumbersCompareAsUnsigned) {
  EXPECT_TRUE(TestInteger(Op::kGreater, -1, 1, T::kUInt64));
  EXPECT_FALSE(TestInteger(Op::kGreater, -1, 1, T::kInt64));
  EXPECT_EQ(ApplyInteger(Op::kMax, -1, 1, T::kUInt64), -1);
}

TEST(Scalar, SaturatesReals) {
  EXPECT_EQ(IntegerFromReal(1e30, T::kInt64), INT64_MAX);
  EXPECT_EQ(IntegerFromReal(-1e30, T::kInt64), INT64_MIN);
  EXPECT_EQ(IntegerFromReal(-5, T::kUInt8), 0);
  EXPECT_EQ(IntegerFromReal(1e30, T::kUInt64), -1);
  EXPECT_EQ(IntegerFromReal(INFINITY, T::kInt16), 32767);
}

TEST(Scalar, ConvertsLongIntegersWithOneRounding) {
  // A conversion through double would round twice: up to a tie, then to even, in the wrong
  // direction.
  const int64_t value = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  EXPECT_EQ(RealFromInteger(value, T::kInt64, T::kFloat32), static_cast<float>(value));
  EXPECT_EQ(RealFromInteger(2049, T::kInt32, T::kFloat16), 2048);
}

TEST(Scalar, ZerosHaveTheSignsThatOnnxruntimeGivesThem) {
  EXPECT_FALSE(std::signbit(Real(Op::kSign, -0.0)));
  EXPECT_TRUE(std::signbit(Real(Op::kRelu, -0.0)));
  for (const Op op : {Op::kMax, Op::kMin}) {
    EXPECT_FALSE(std::signbit(Real(op, -0.0, 0.0))) << op;
    EXPECT_TRUE(std::signbit(Real(op, 0.0, -0.0))) << op;
  }
  EXPECT_TRUE(std::signbit(Real(Op::kRound, -0.2)));
  EXPECT_TRUE(std::signbit(Real(Op::kFmod, -4, 2)));
  EXPECT_FALSE(std::signbit(Real(Op::kMod, -4, 2)));
}

TEST(Scalar, ModulusOfInfinityIsInfiniteWhereTheSignsDiffer) {
  EXPECT_EQ(Real(Op::kMod, 5, -INFINITY), -INFINITY);
  EXPECT_EQ(Real(Op::kMod, 5, INFINITY), 5);
  EXPECT_TRUE(std::isnan(Real(Op::kMod, 5, 0)));
}

TEST(Scalar, EvaluatesAndRoundsToTheType) {
  const Scalar one{0, 1}, three{0, 3}, large{0, 1e30f};
  EXPECT_EQ(EvaluateScalar(Op::kDiv, T::kFloat32, {one, three}).real, 1.0f / 3.0f);
  EXPECT_EQ(EvaluateScalar(Op::kDiv, T::kFloat64, {one, three}).real, 1.0 / 3.0);
  EXPECT_EQ(EvaluateScalar(Op::kMul, T::kFloat32, {large, large}).real, INFINITY);
  EXPECT_EQ(EvaluateScalar(Op::kLess, T::kFloat32, {one, three}).integer, 1);
  EXPECT_EQ(EvaluateScalar(Op::kSelect, T::kFloat32, {Scalar{1, 0}, one, three}).real, 1);
  EXPECT_EQ(EvaluateScalar(Op::kNeg, T::kUInt8, {Scalar{1, 0}}).integer, 255);
}

TEST(Scalar, ConvertsBetweenAllKinds) {
  const auto from_float = [](double x, T to) {
    return ConvertScalar(Scalar{0, x}, T::kFloat32, to).integer;
  };
  EXPECT_EQ(from_float(-1.9, T::kInt32), -1);
  EXPECT_EQ(from_float(1e10, T::kInt32), INT32_MAX);
  EXPECT_EQ(from_float(NAN, T::kInt32), 0);
  EXPECT_EQ(from_float(NAN, T::kBool), 1);
  EXPECT_EQ(from_float(0.25, T::kBool), 1);
  EXPECT_EQ(ConvertScalar(Scalar{300, 0}, T::kInt32, T::kUInt8).integer, 44);
  EXPECT_EQ(ConvertScalar(Scalar{200, 0}, T::kUInt8, T::kInt8).integer, -56);
  EXPECT_EQ(ConvertScalar(Scalar{-1, 0}, T::kUInt64, T::kFloat64).real, 0x1p64);
  EXPECT_EQ(ConvertScalar(Scalar{2049, 0}, T::kInt32, T::kFloat16).real, 2048);
}

TEST(Scalar, FunctionsOfRealsDoNotExistForIntegers) {
  EXPECT_FALSE(IsDefined(Op::kRecip, T::kInt32));
  EXPECT_FALSE(IsDefined(Op::kExp, T::kBool));
  EXPECT_TRUE(IsDefined(Op::kRecip, T::kFloat32));
  EXPECT_FALSE(IsDefined(Op::kShiftLeft, T::kBool));
}

}  // namespace
}  // namespace tartan
