// What each scalar operation means, corner cases included: the rule that generated code, the
// simplifier's folding and the interpreter share.
//
// Integers are two's complement and wrap to their width. x / 0 = 0, x % 0 = 0, and the least
// integer divided by -1 is itself. kDiv truncates; kMod has the sign of the divisor, kFmod that of
// the dividend. Shifts by the width or more (or by a negative count) give 0, a right shift of a
// negative value -1. An integer power with a negative exponent is 0 unless the base is 1 or -1.
// bool computes with 0 and 1 and any other result counts as 1 (a sum is a logical or).
// kMax, kMin, kRelu and kSign hand NaN on. A float cast to an integer truncates, saturates, and
// makes 0 of NaN; cast to bool it is x != 0. Between integers a cast wraps.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "tile/base/scalar_op.h"
#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// One element of a type that is known elsewhere.
struct Scalar {
  int64_t integer = 0;  // integers and bool; uint64 as two's complement bits
  double real = 0;      // float32 (exactly representable there) and float64
};

// The value in the range of `type`: integers wrapped to its width, floats rounded to it.
Scalar Normalize(Scalar value, DataType type);

// Requires: neither type is a 16-bit float.
Scalar Convert(Scalar value, DataType from, DataType to);

// `type` is that of the operands (of the last two for kSelect, whose condition is bool). Requires
// IsDefined(op, type), and op is not kCast. Float operations are computed in double and rounded.
Scalar Evaluate(ScalarOp op, DataType type, absl::Span<const Scalar> operands);

// Whether the operation exists for operands of the type: exponential and trigonometric functions
// need floats, bit operations integers or bool, logic bool.
bool IsDefined(ScalarOp op, DataType type);

// The function takes floats only: kSqrt, kExp … kErf, kSigmoid, kAtan2.
bool IsFloatFunction(ScalarOp op);

}  // namespace tartan::loop
