// SPDX-License-Identifier: Apache-2.0
// The meaning of the scalar operations on single numbers, corner cases included: the one rule of
// the naive evaluator, of folding literals and sizes, of the simplifier and the interpreter of
// loops, and what devices must give (tests/tile/scalars, tests/backend_opencl/dialect).
//
// Integers are two's complement and wrap to their width. x / 0, x mod 0 and x fmod 0 are 0, and the
// least integer divided by -1 is itself. kDiv truncates; kMod has the sign of the divisor, kFmod
// that of the dividend (ONNX's Mod with fmod 0 and 1). A shift by the width or more, or by a
// negative count, gives 0, and -1 for a negative number shifted right. A negative power is 0 unless
// the base is 1 or -1. bool computes with 0 and 1, and any other result counts as 1: a sum is a
// logical or. Functions of reals (IsFloatFunction) do not exist for integers: programs cast first.
//
// Reals follow IEEE 754, infinities, subnormals and the signs of zeros among them. kRound takes
// ties to even. kMax, kMin, kRelu and kSign hand NaN on. Where ONNX and IEEE leave a choice:
//   kMax(a, b), kMin(a, b)  of zeros of both signs is b, as in NumPy and onnxruntime
//   kRelu(-0.0)             is -0.0: ONNX's max(0, x) by this kMax, as in onnxruntime
//   kSign(-0.0)             is +0.0: "if input == 0, output 0"; as in NumPy and onnxruntime
//   kMod(x, y) of 0         has the sign of y, as in Python and NumPy
//
// Casts: between integers values wrap; a float truncates, saturates, and NaN becomes 0; to bool
// everything but 0 is 1, NaN too. An integer is rounded once to float32 or float64; anything
// becomes a 16-bit float by way of float32, in which 16-bit floats are computed.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "tile/base/data_type.h"
#include "tile/base/scalar_op.h"

namespace tartan {

// The value of an integer type or bool with these low bits. uint64 is kept as its bits.
int64_t WrapInteger(uint64_t bits, DataType type);
// The nearest value of a float type.
double RoundReal(double value, DataType type);

int64_t IntegerFromReal(double value, DataType to);
double RealFromInteger(int64_t value, DataType from, DataType to);

// Functions whose operands and result have `type`, for reals without the final rounding: who
// computes sums in double rounds where it likes. Unary functions ignore `b`. Require
// IsDefined(op, type), and that `op` is no predicate, cast or select.
int64_t ApplyInteger(ScalarOp op, int64_t a, int64_t b, DataType type);
double ApplyReal(ScalarOp op, double a, double b);

// Functions that give bool, of operands of `type`.
bool TestInteger(ScalarOp op, int64_t a, int64_t b, DataType type);
bool TestReal(ScalarOp op, double a, double b);

// One element of a type that is known elsewhere; what the type does not use is 0.
struct Scalar {
  int64_t integer = 0;  // integers and bool; uint64 as two's complement bits
  double real = 0;      // floats, exactly representable in their type
};

// The value in the range of `type`: integers wrapped to its width, floats rounded to it.
Scalar NormalizeScalar(Scalar value, DataType type);

Scalar ConvertScalar(Scalar value, DataType from, DataType to);

// `type` is that of the operands (of the last two for kSelect, whose condition is bool). Requires
// IsDefined(op, type), and op is not kCast. Reals are computed in double and rounded to `type`.
Scalar EvaluateScalar(ScalarOp op, DataType type, absl::Span<const Scalar> operands);

// Whether the operation exists for operands of the type: kSqrt, kExp and the like need floats, bit
// operations integers or bool, shifts integers, logic bool.
bool IsDefined(ScalarOp op, DataType type);

// The function takes floats only: kSqrt, kRecip, kExp … kErf, kSigmoid, kAtan2.
bool IsFloatFunction(ScalarOp op);

}  // namespace tartan
