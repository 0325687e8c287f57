// SPDX-License-Identifier: Apache-2.0
// The reference semantics of scalar operations, including corner cases. The naive evaluator,
// constant folding, the simplifier and the loop interpreter use it, and devices must agree with it
// (tests/tile/scalars, tests/backend_opencl/dialect).
//
// Integers are two's complement and wrap to their width:
// - x / 0, x mod 0 and x fmod 0 are 0; the minimum integer divided by -1 is itself.
// - kDiv truncates. kMod has the sign of the divisor, kFmod the sign of the dividend (ONNX's Mod
//   with fmod 0 and 1).
// - A shift by the width or more, or by a negative count, gives 0; a right shift of a negative
//   integer then gives -1.
// - A negative power is 0 unless the base is 1 or -1.
// - bool computes with 0 and 1, and any other result counts as 1: a sum is a logical or.
// - Functions of reals (IsFloatFunction) are not defined for integers: programs cast first.
//
// Reals follow IEEE 754, including infinities, subnormals and signed zeros. kRound takes ties to
// even. kMax, kMin, kRelu and kSign propagate NaN. Where ONNX and IEEE leave a choice:
//   kMax(a, b), kMin(a, b)  of zeros of both signs is b, as in NumPy and onnxruntime
//   kRelu(-0.0)             is -0.0: ONNX's max(0, x) by this kMax, as in onnxruntime
//   kSign(-0.0)             is +0.0: "if input == 0, output 0"; as in NumPy and onnxruntime
//   kMod(x, y) of 0         has the sign of y, as in Python and NumPy
//
// Casts: between integers, values wrap. A float to an integer truncates and saturates, and NaN
// becomes 0. To bool, everything but 0 is 1, including NaN. An integer is rounded once to float32
// or float64. 16-bit floats are converted through float32, in which they are computed.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "tile/base/data_type.h"
#include "tile/base/scalar_op.h"

namespace tartan {

// The value of an integer type or bool with these low bits; uint64 is stored as its bits.
int64_t WrapInteger(uint64_t bits, DataType type);
// The nearest value of a float type.
double RoundReal(double value, DataType type);

int64_t IntegerFromReal(double value, DataType to);
double RealFromInteger(int64_t value, DataType from, DataType to);

// Functions whose operands and result have `type`. ApplyReal does not round to the type, so that
// callers can accumulate in double. Unary functions ignore `b`. Require IsDefined(op, type), and an
// `op` that is not a predicate, cast or select.
int64_t ApplyInteger(ScalarOp op, int64_t a, int64_t b, DataType type);
double ApplyReal(ScalarOp op, double a, double b);

// Functions with a bool result, for operands of `type`.
bool TestInteger(ScalarOp op, int64_t a, int64_t b, DataType type);
bool TestReal(ScalarOp op, double a, double b);

// One element whose type is stored elsewhere; the member that the type does not use is 0.
struct Scalar {
  int64_t integer = 0;  // integers and bool; uint64 as two's complement bits
  double real = 0;      // floats, exactly representable in their type
};

// Converts the value to the range of `type`: wraps integers to its width, rounds floats to it.
Scalar NormalizeScalar(Scalar value, DataType type);

Scalar ConvertScalar(Scalar value, DataType from, DataType to);

// `type` is the operands' type (for kSelect, of the last two; its condition is bool). Requires
// IsDefined(op, type), and an op other than kCast. Reals are computed in double and rounded to
// `type`.
Scalar EvaluateScalar(ScalarOp op, DataType type, absl::Span<const Scalar> operands);

// Returns whether the operation is defined for operands of the type: kSqrt, kExp and similar need
// floats, bit operations integers or bool, shifts integers, logic bool.
bool IsDefined(ScalarOp op, DataType type);

// Returns whether the function takes only floats: kSqrt, kRecip, kExp … kErf, kSigmoid, kAtan2.
bool IsFloatFunction(ScalarOp op);

}  // namespace tartan
