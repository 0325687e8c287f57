// SPDX-License-Identifier: Apache-2.0
#include "tile/base/scalar_op.h"

#include <array>

namespace tartan {
namespace {

struct OpRow {
  absl::string_view name;
  int operands;
  bool returns_bool = false;
};

// Rows in the order of the enumeration.
constexpr std::array<OpRow, kScalarOpCount> kOps = {{
    {"ident", 1},
    {"neg", 1},
    {"abs", 1},
    {"sign", 1},
    {"bit_not", 1},
    {"logical_not", 1, true},
    {"ceil", 1},
    {"floor", 1},
    {"round", 1},
    {"trunc", 1},
    {"sqrt", 1},
    {"recip", 1},
    {"exp", 1},
    {"expm1", 1},
    {"log", 1},
    {"log1p", 1},
    {"sin", 1},
    {"cos", 1},
    {"tan", 1},
    {"asin", 1},
    {"acos", 1},
    {"atan", 1},
    {"sinh", 1},
    {"cosh", 1},
    {"tanh", 1},
    {"asinh", 1},
    {"acosh", 1},
    {"atanh", 1},
    {"erf", 1},
    {"sigmoid", 1},
    {"relu", 1},
    {"isnan", 1, true},
    {"isinf", 1, true},
    {"cast", 1},
    {"add", 2},
    {"sub", 2},
    {"mul", 2},
    {"div", 2},
    {"mod", 2},
    {"fmod", 2},
    {"pow", 2},
    {"max", 2},
    {"min", 2},
    {"atan2", 2},
    {"bit_and", 2},
    {"bit_or", 2},
    {"bit_xor", 2},
    {"bit_left", 2},
    {"bit_right", 2},
    {"dot16", 2},
    {"dot8", 2},
    {"dot8u", 2},
    {"pairbf16", 2},
    {"dotbf16", 2},
    {"logical_and", 2, true},
    {"logical_or", 2, true},
    {"cmp_eq", 2, true},
    {"cmp_ne", 2, true},
    {"cmp_lt", 2, true},
    {"cmp_le", 2, true},
    {"cmp_gt", 2, true},
    {"cmp_ge", 2, true},
    {"cond", 3},
}};

const OpRow& Row(ScalarOp op) { return kOps[static_cast<size_t>(op)]; }

}  // namespace

int OperandCount(ScalarOp op) { return Row(op).operands; }
absl::string_view Name(ScalarOp op) { return Row(op).name; }
bool ReturnsBool(ScalarOp op) { return Row(op).returns_bool; }

bool IsOfKernels(ScalarOp op) {
  return op == ScalarOp::kPairBFloat16 || op == ScalarOp::kDotBFloat16;
}

DataType ResultType(ScalarOp op, DataType type) {
  if (op == ScalarOp::kPairBFloat16) return DataType::kInt32;
  if (op == ScalarOp::kDotBFloat16) return DataType::kFloat32;
  return ReturnsBool(op) ? DataType::kBool : type;
}

std::optional<ScalarOp> ScalarOpFromName(absl::string_view name) {
  for (size_t i = 0; i < kOps.size(); ++i) {
    if (kOps[i].name == name) return static_cast<ScalarOp>(i);
  }
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, ScalarOp op) { return out << Name(op); }

absl::string_view Symbol(Aggregation aggregation) {
  constexpr absl::string_view kSymbols[] = {"+", "*", ">", "<", "="};
  return kSymbols[static_cast<size_t>(aggregation)];
}

absl::string_view Symbol(Combination combination) {
  constexpr absl::string_view kSymbols[] = {"", "*", "+", "==", "?"};
  return kSymbols[static_cast<size_t>(combination)];
}

}  // namespace tartan
