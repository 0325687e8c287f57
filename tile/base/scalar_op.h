// SPDX-License-Identifier: Apache-2.0
// The list of scalar functions, shared by the graph (elementwise operations), kernel bodies and
// generated code. tile/lang/README.md defines their meaning and corner cases.
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
  kCast,  // to the result type
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
  // Dot operations on int32 words that contain two signed 16-bit or four signed 8-bit integers: the
  // sum of the elementwise multiplications.
  kDot16,
  kDot8,
  kDot8u,  // as kDot8, with unsigned bytes in the first operand
  // For kernels only (IsOfKernels). kPairBFloat16 packs two float32, rounded to bfloat16, into an
  // int32, the first in the lower half. kDotBFloat16 multiplies the values of two such words and
  // adds in float32.
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

// Returns whether the result is bool: kEqual … kGreaterEqual, kLogical*, kIsNan, kIsInf.
bool ReturnsBool(ScalarOp op);

// Returns whether only compiler passes create the operation; its result type differs from its
// operands'.
bool IsOfKernels(ScalarOp op);

// The result type for operands of `type` (for kSelect, of the last two): bool for predicates, the
// types of kPairBFloat16 and kDotBFloat16, otherwise `type`. Requires that op is not kCast.
DataType ResultType(ScalarOp op, DataType type);

std::ostream& operator<<(std::ostream& out, ScalarOp op);

// The reduction operator that combines all contributions to an output element.
enum class Aggregation : uint8_t { kSum, kProduct, kMax, kMin, kAssign };

// The operation on the inputs of a contraction. kNone: one input; kCond: A == B ? C : 0.
enum class Combination : uint8_t { kNone, kMultiply, kAdd, kEqual, kCond };

absl::string_view Symbol(Aggregation aggregation);  // "+", "*", ">", "<", "="
absl::string_view Symbol(Combination combination);  // "", "*", "+", "==", "?"

}  // namespace tartan
