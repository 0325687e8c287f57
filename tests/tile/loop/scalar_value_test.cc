#include "tile/loop/scalar_value.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tartan::loop {
namespace {

int64_t Int(ScalarOp op, DataType type, int64_t a, int64_t b = 0) {
  const Scalar operands[] = {{a, 0}, {b, 0}};
  return Evaluate(op, type, absl::MakeConstSpan(operands, OperandCount(op))).integer;
}

double Real(ScalarOp op, double a, double b = 0, DataType type = DataType::kFloat32) {
  const Scalar operands[] = {{0, a}, {0, b}};
  return Evaluate(op, type, absl::MakeConstSpan(operands, OperandCount(op))).real;
}

constexpr DataType kI32 = DataType::kInt32;
constexpr DataType kI8 = DataType::kInt8;
constexpr DataType kU8 = DataType::kUInt8;
constexpr DataType kU64 = DataType::kUInt64;
constexpr DataType kBool = DataType::kBool;

TEST(Evaluate, DividesWithoutTraps) {
  EXPECT_EQ(Int(ScalarOp::kDiv, kI32, -7, 2), -3);
  EXPECT_EQ(Int(ScalarOp::kDiv, kI32, 7, 0), 0);
  EXPECT_EQ(Int(ScalarOp::kDiv, kI32, INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(Int(ScalarOp::kDiv, DataType::kInt64, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(Int(ScalarOp::kDiv, kI8, -128, -1), -128);
  EXPECT_EQ(Int(ScalarOp::kDiv, kU64, -1, 2), INT64_MAX);
}

TEST(Evaluate, GivesRemaindersTheirSigns) {
  EXPECT_EQ(Int(ScalarOp::kMod, kI32, -7, 3), 2);
  EXPECT_EQ(Int(ScalarOp::kMod, kI32, 7, -3), -2);
  EXPECT_EQ(Int(ScalarOp::kFmod, kI32, -7, 3), -1);
  EXPECT_EQ(Int(ScalarOp::kMod, kI32, 7, 0), 0);
  EXPECT_EQ(Int(ScalarOp::kFmod, kI32, INT32_MIN, -1), 0);
  EXPECT_EQ(Real(ScalarOp::kMod, -7, 3), 2);
  EXPECT_EQ(Real(ScalarOp::kFmod, -7, 3), -1);
  EXPECT_EQ(Real(ScalarOp::kMod, 5, -INFINITY), -INFINITY);
  EXPECT_TRUE(std::isnan(Real(ScalarOp::kMod, 5, 0)));
}

TEST(Evaluate, ShiftsByAnyCount) {
  EXPECT_EQ(Int(ScalarOp::kShiftLeft, kI32, 1, 31), INT32_MIN);
  EXPECT_EQ(Int(ScalarOp::kShiftLeft, kI32, 1, 32), 0);
  EXPECT_EQ(Int(ScalarOp::kShiftRight, kI32, -1, 40), -1);
  EXPECT_EQ(Int(ScalarOp::kShiftRight, kU8, 255, 8), 0);
  EXPECT_EQ(Int(ScalarOp::kShiftRight, kU64, -1, 63), 1);
}

TEST(Evaluate, RaisesIntegersToPowers) {
  EXPECT_EQ(Int(ScalarOp::kPow, kI32, 3, 4), 81);
  EXPECT_EQ(Int(ScalarOp::kPow, kI32, 2, 33), 0);
  EXPECT_EQ(Int(ScalarOp::kPow, kI32, 2, -1), 0);
  EXPECT_EQ(Int(ScalarOp::kPow, kI32, -1, -3), -1);
  EXPECT_EQ(Int(ScalarOp::kPow, kI32, 0, 0), 1);
  EXPECT_EQ(Int(ScalarOp::kPow, kU8, 3, 255), 171);  // 3^255 mod 256
}

TEST(Evaluate, HandsNanOn) {
  for (ScalarOp op : {ScalarOp::kMax, ScalarOp::kMin}) {
    EXPECT_TRUE(std::isnan(Real(op, NAN, 1))) << op;
    EXPECT_TRUE(std::isnan(Real(op, 1, NAN))) << op;
  }
  EXPECT_TRUE(std::isnan(Real(ScalarOp::kRelu, NAN)));
  EXPECT_TRUE(std::isnan(Real(ScalarOp::kSign, NAN)));
}

TEST(Evaluate, RoundsTiesToEven) {
  EXPECT_EQ(Real(ScalarOp::kRound, 0.5), 0);
  EXPECT_EQ(Real(ScalarOp::kRound, 1.5), 2);
  EXPECT_EQ(Real(ScalarOp::kRound, -2.5), -2);
  EXPECT_TRUE(std::signbit(Real(ScalarOp::kRound, -0.2)));
  EXPECT_EQ(Real(ScalarOp::kRound, INFINITY), INFINITY);
}

TEST(Evaluate, RoundsFloatResultsToTheirType) {
  EXPECT_EQ(Real(ScalarOp::kDiv, 1, 3), 1.0f / 3.0f);
  EXPECT_EQ(Real(ScalarOp::kDiv, 1, 3, DataType::kFloat64), 1.0 / 3.0);
  EXPECT_EQ(Real(ScalarOp::kMul, 1e30f, 1e30f), INFINITY);
}

TEST(Evaluate, ComputesWithBools) {
  EXPECT_EQ(Int(ScalarOp::kAdd, kBool, 1, 1), 1);
  EXPECT_EQ(Int(ScalarOp::kSub, kBool, 0, 1), 1);
  EXPECT_EQ(Int(ScalarOp::kMul, kBool, 1, 0), 0);
  EXPECT_EQ(Int(ScalarOp::kBitNot, kBool, 1), 0);
}

TEST(Evaluate, ComparesUnsignedValuesAsUnsigned) {
  EXPECT_EQ(Int(ScalarOp::kLess, kU64, -1, 1), 0);
  EXPECT_EQ(Int(ScalarOp::kMax, kU64, -1, 1), -1);
  EXPECT_EQ(Int(ScalarOp::kMin, DataType::kInt64, -1, 1), -1);
}

TEST(Convert, SaturatesFloatsAndWrapsIntegers) {
  const auto from_float = [](double x, DataType to) {
    return Convert(Scalar{0, x}, DataType::kFloat32, to).integer;
  };
  EXPECT_EQ(from_float(-1.9, kI32), -1);
  EXPECT_EQ(from_float(1e10, kI32), INT32_MAX);
  EXPECT_EQ(from_float(-5, kU8), 0);
  EXPECT_EQ(from_float(NAN, kI32), 0);
  EXPECT_EQ(from_float(INFINITY, kU64), -1);
  EXPECT_EQ(from_float(NAN, kBool), 1);
  EXPECT_EQ(from_float(0.25, kBool), 1);
  EXPECT_EQ(Convert(Scalar{300, 0}, kI32, kU8).integer, 44);
  EXPECT_EQ(Convert(Scalar{200, 0}, kU8, kI8).integer, -56);
  EXPECT_EQ(Convert(Scalar{-1, 0}, kU64, DataType::kFloat64).real, 18446744073709551616.0);
}

}  // namespace
}  // namespace tartan::loop
