// SPDX-License-Identifier: Apache-2.0
// The functions of scalars: one list used by the graph (elementwise operations), by kernel bodies
// and by generated code. Meaning and corner cases are written in tile/lang/README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>

#include "absl/strings/string_view.h"
#include "tile/base/data_type.h"

namespace tartan {

enum class ScalarOp : uint8_t {
  // One operand.
  kIdentity,
  kNeg,
  kAbs,
  kSign,
  kBitNot,
  kLogicalNot,
  kCeil,
  kFloor,
  kRound,  // to nearest, ties to even
  kTrunc,
  kSqrt,
  kRecip,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kSigmoid,
  kRelu,
  kIsNan,
  kIsInf,
  kCast,  // to the type of the result
  // Two operands.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,   // sign of the divisor (Python, ONNX fmod=0)
  kFmod,  // sign of the dividend (C)
  kPow,
  kMax,
  kMin,
  kAtan2,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  // Of int32 that hold signed numbers, two of 16 bits or four of 8: each times the other's, added
  // up.
  kDot16,
  kDot8,
  kDot8u,  // as kDot8, the first operand's without sign
  // Of kernels alone (IsOfKernels): two float32, rounded to bfloat16, in an int32, the first one in
  // its lower half; and of two such words the products of their halves, added up in float32.
  kPairBFloat16,
  kDotBFloat16,
  kLogicalAnd,
  kLogicalOr,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  // Three operands.
  kSelect,  // condition ? a : b
};

inline constexpr int kScalarOpCount = static_cast<int>(ScalarOp::kSelect) + 1;

int OperandCount(ScalarOp op);

// The name of the function in Tile: "add", "cmp_lt", "exp" …
absl::string_view Name(ScalarOp op);

std::optional<ScalarOp> ScalarOpFromName(absl::string_view name);

// kEqual … kGreaterEqual, kLogical*, kIsNan, kIsInf: the result is bool.
bool ReturnsBool(ScalarOp op);

// Its result has another type than its operands: programs do not have it, passes write it.
bool IsOfKernels(ScalarOp op);

// For operands of a type (the last two of kSelect's): bool, or that of kPairBFloat16 and
// kDotBFloat16, or the same. Requires that op is not kCast.
DataType ResultType(ScalarOp op, DataType type);

std::ostream& operator<<(std::ostream& out, ScalarOp op);

// How a contraction merges the values of one output element.
enum class Aggregation : uint8_t { kSum, kProduct, kMax, kMin, kAssign };

// How a contraction combines its inputs. kNone: one input; kCond: A == B ? C : 0.
enum class Combination : uint8_t { kNone, kMultiply, kAdd, kEqual, kCond };

absl::string_view Symbol(Aggregation aggregation);  // "+", "*", ">", "<", "="
absl::string_view Symbol(Combination combination);  // "", "*", "+", "==", "?"

}  // namespace tartan
