// The meaning of the scalar functions on single numbers, corner cases included, for the naive
// evaluator and for folding literals. Reals are doubles that hold a value of their type exactly;
// integers and bool are int64, uint64 as its bits.
//
// Integers wrap to their width. x / 0, x mod 0 and x fmod 0 are 0, the least integer divided by -1
// is itself. Division truncates; mod has the sign of the divisor, fmod that of the dividend. A
// shift by the width or more, or by a negative count, gives 0, and -1 for a negative number shifted
// right. A negative power is 0 unless the base is 1 or -1. bool computes as an integer whose every
// value but 0 counts as 1. max, min, relu and sign hand NaN on; rounding is half to even.
#pragma once

#include <cstdint>

#include "tile/base/data_type.h"
#include "tile/base/scalar_op.h"

namespace tartan::ir {

// The value of an integer type or bool with these low bits.
int64_t WrapInteger(uint64_t bits, DataType type);
// The nearest value of a float type.
double RoundReal(double value, DataType type);

// Casts. Between integers values wrap; a float truncates, saturates, and NaN becomes 0; to bool
// everything but 0 is 1.
int64_t IntegerFromReal(double value, DataType to);
double RealFromInteger(int64_t value, DataType from, DataType to);

// Functions whose operands and result have `type`, for reals without the final rounding. Unary
// functions ignore `b`. Require a function that exists for the type and is no predicate, cast or
// select.
int64_t ApplyInteger(ScalarOp op, int64_t a, int64_t b, DataType type);
double ApplyReal(ScalarOp op, double a, double b);

// Functions that give bool, of operands of `type`.
bool TestInteger(ScalarOp op, int64_t a, int64_t b, DataType type);
bool TestReal(ScalarOp op, double a, double b);

}  // namespace tartan::ir
