// SPDX-License-Identifier: Apache-2.0
// Arithmetic and elementwise functions, and sums, means, minima and maxima of several tensors.
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/lift.h"
#include "frontend/onnx/import/decoding_mode.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

constexpr char kAdd[] = "function (A, B) -> (C) { C = A + B; }";
constexpr char kSub[] = "function (A, B) -> (C) { C = A - B; }";
constexpr char kMul[] = "function (A, B) -> (C) { C = A * B; }";
// Integers truncate towards zero.
constexpr char kDiv[] = "function (A, B) -> (C) { C = A / B; }";

// The elements of a constant of integers; nothing for other tensors.
std::vector<int64_t> ConstantIntsOf(const api::Tensor& tensor) {
  if (tensor.constant() == nullptr || !IsInteger(tensor.type())) return {};
  return tensor.constant()->ToInts();
}

// Positions of a decoder step with a preallocated cache (decoding_mode.h): the size of the past
// cache is added to 0, 1, ..., `step` - 1. Replaces this size by the current length.
absl::Status AddLengthToPositions(NodeContext* context) {
  const DecodingMode* mode = context->decoding();
  if (mode == nullptr) return absl::OkStatus();
  std::vector<int64_t> steps(static_cast<size_t>(mode->step));
  std::iota(steps.begin(), steps.end(), 0);
  const std::vector<int64_t> past = {mode->capacity - mode->step};
  for (const int i : {0, 1}) {
    const api::Tensor& size = context->input(i);
    if (ConstantIntsOf(size) != past || ConstantIntsOf(context->input(1 - i)) != steps) continue;
    const std::string value =
        size.rank() == 0 ? "L[] = =(N[0])"
                         : absl::StrCat("L = reshape(N, ", absl::StrJoin(size.dims(), ", "), ")");
    TARTAN_ASSIGN_OR_RETURN(
        const api::Tensor length,
        context->ApplyOne(
            TileFunction("N", "Y", {value, absl::StrCat("Y = ", Cast("L", size.type()))}),
            {mode->length}));
    context->SetInput(i, length);
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

Outputs Add(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(AddLengthToPositions(&context));
  return context.Apply(kAdd);
}

// The result has the type of the base.
Outputs Pow(NodeContext& context) {
  std::string value = "pow(A, B)";
  if (context.input(0).type() != context.input(1).type()) {
    value = Cast(value, context.input(0).type());
  }
  return context.Apply(absl::StrCat("function (A, B) -> (C) { C = ", value, "; }"));
}

// The floored modulus in terms of fmod, valid for zero and infinite divisors too.
std::string FlooredModulus(DataType type) {
  return TileFunction(
      "A, B", "C",
      {"R = fmod(A, B)", "F = R == 0 ? (B < 0 ? -0.0 : 0.0) : ((R < 0) == (B < 0) ? R : R + B)",
       absl::StrCat("C = ", Cast("F", type))});
}

// The result has the divisor's sign if 'fmod' is 0, and the dividend's sign if it is 1.
Outputs Mod(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t fmod, context.Int("fmod", 0));
  if (fmod == 0 && IsFloat(context.input(0).type())) {
    if (context.opset() < 28) return Invalid("attribute 'fmod' must be 1 for floats");
    return context.Apply(FlooredModulus(context.input(0).type()));
  }
  return context.Apply(fmod == 0 ? "function (A, B) -> (C) { C = mod(A, B); }"
                                 : "function (A, B) -> (C) { C = fmod(A, B); }");
}

// Maximum operands of one expression; more are split into several statements.
constexpr int kMaxOperandsOfExpression = 64;

// X0 op X1 op …, with `join` writing one operation.
Outputs Fold(NodeContext& context, std::string (*join)(const std::string&, const std::string&),
             bool is_mean = false) {
  const int count = context.input_count();
  const TensorShape& first = context.input(0).shape();
  if (is_mean && !IsFloat(first.type)) {
    return Unsupported("operand 0 is ", first.ToString(), ", but the operator takes floats only");
  }
  std::string value = "X0";
  std::vector<std::string> statements;
  for (int i = 1; i < count; ++i) {
    if (i % kMaxOperandsOfExpression == 0) {
      statements.push_back(absl::StrCat("T", i, " = ", value));
      value = absl::StrCat("T", i);
    }
    value = join(value, absl::StrCat("X", i));
  }
  if (count == 1) return std::vector<Tensor>{context.input(0)};
  if (is_mean) value = absl::StrCat("(", value, ") / ", count);
  statements.push_back(absl::StrCat("Y = ", value));
  return context.Apply(TileFunction(NameList("X", count), "Y", statements));
}

std::string JoinSum(const std::string& a, const std::string& b) {
  return absl::StrCat(a, " + ", b);
}

Outputs Sum(NodeContext& context) { return Fold(context, JoinSum); }

Outputs Mean(NodeContext& context) { return Fold(context, JoinSum, /*is_mean=*/true); }

Outputs Max(NodeContext& context) {
  return Fold(context, [](const std::string& a, const std::string& b) {
    return absl::StrCat("max(", a, ", ", b, ")");
  });
}

Outputs Min(NodeContext& context) {
  return Fold(context, [](const std::string& a, const std::string& b) {
    return absl::StrCat("min(", a, ", ", b, ")");
  });
}

// The bounds, operands 1 and 2, may be missing.
Outputs Clip(NodeContext& context) {
  std::vector<Tensor> operands = {context.input(0)};
  std::string names = "X";
  std::string value = "X";
  if (context.HasInput(1)) {
    operands.push_back(context.input(1));
    names += ", LOW";
    value = absl::StrCat("max(", value, ", LOW)");
  }
  if (context.HasInput(2)) {
    operands.push_back(context.input(2));
    names += ", HIGH";
    value = absl::StrCat("min(", value, ", HIGH)");
  }
  if (operands.size() == 1) return operands;
  return context.Apply(TileFunction(names, "Y", {absl::StrCat("Y = ", value)}), operands);
}

constexpr OperatorRow kOperators[] = {
    TileRow("Abs", 1, 1, "function (X) -> (Y) { Y = abs(X); }"),
    TileRow("Acos", 7, 1, "function (X) -> (Y) { Y = acos(X); }"),
    TileRow("Acosh", 9, 1, "function (X) -> (Y) { Y = acosh(X); }"),
    TileRow("Add", 1, 2, kAdd, AxisBroadcast),
    {"Add", 7, {2, 2}, Add},
    TileRow("Asin", 7, 1, "function (X) -> (Y) { Y = asin(X); }"),
    TileRow("Asinh", 9, 1, "function (X) -> (Y) { Y = asinh(X); }"),
    TileRow("Atan", 7, 1, "function (X) -> (Y) { Y = atan(X); }"),
    TileRow("Atanh", 9, 1, "function (X) -> (Y) { Y = atanh(X); }"),
    TileRow("Ceil", 1, 1, "function (X) -> (Y) { Y = ceil(X); }"),
    {"Clip", 1, {1, 1}, Clip, 0, ClipToOperands},
    {"Clip", 11, {1, 3}, Clip},
    TileRow("Cos", 7, 1, "function (X) -> (Y) { Y = cos(X); }"),
    TileRow("Cosh", 9, 1, "function (X) -> (Y) { Y = cosh(X); }"),
    TileRow("Div", 1, 2, kDiv, AxisBroadcast),
    TileRow("Div", 7, 2, kDiv),
    TileRow("Erf", 9, 1, "function (X) -> (Y) { Y = erf(X); }"),
    TileRow("Exp", 1, 1, "function (X) -> (Y) { Y = exp(X); }"),
    TileRow("Floor", 1, 1, "function (X) -> (Y) { Y = floor(X); }"),
    TileRow("Log", 1, 1, "function (X) -> (Y) { Y = log(X); }"),
    {"Max", 1, {1, kAnyNumber}, Max},
    {"Mean", 1, {1, kAnyNumber}, Mean},
    {"Min", 1, {1, kAnyNumber}, Min},
    {"Mod", 10, {2, 2}, Mod},
    TileRow("Mul", 1, 2, kMul, AxisBroadcast),
    TileRow("Mul", 7, 2, kMul),
    TileRow("Neg", 1, 1, "function (X) -> (Y) { Y = -X; }"),
    {"Pow", 1, {2, 2}, Pow, 0, AxisBroadcast},
    {"Pow", 7, {2, 2}, Pow},
    TileRow("Reciprocal", 1, 1, "function (X) -> (Y) { Y = recip(X); }"),
    TileRow("Round", 11, 1, "function (X) -> (Y) { Y = round(X); }"),
    TileRow("Sign", 9, 1, "function (X) -> (Y) { Y = sign(X); }"),
    TileRow("Sin", 7, 1, "function (X) -> (Y) { Y = sin(X); }"),
    TileRow("Sinh", 9, 1, "function (X) -> (Y) { Y = sinh(X); }"),
    TileRow("Sqrt", 1, 1, "function (X) -> (Y) { Y = sqrt(X); }"),
    TileRow("Sub", 1, 2, kSub, AxisBroadcast),
    TileRow("Sub", 7, 2, kSub),
    {"Sum", 1, {1, kAnyNumber}, Sum},
    TileRow("Tan", 7, 1, "function (X) -> (Y) { Y = tan(X); }"),
    TileRow("Tanh", 1, 1, "function (X) -> (Y) { Y = tanh(X); }"),
};

}  // namespace

absl::Span<const OperatorRow> MathOperators() { return kOperators; }

}  // namespace tartan::onnx
