// SPDX-License-Identifier: Apache-2.0
// Activation functions. The formulas follow the ONNX operator reference, in forms that do not
// overflow.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/lift.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

constexpr char kPRelu[] = "function (X, SLOPE) -> (Y) { Y = X < 0 ? SLOPE * X : X; }";
constexpr char kRelu[] = "function (X) -> (Y) { Y = relu(X); }";
constexpr char kSigmoid[] = "function (X) -> (Y) { Y = sigmoid(X); }";

// Applies the expression `value` in X.
Outputs Map(NodeContext& context, const std::string& value) {
  return context.Apply(absl::StrCat("function (X) -> (Y) { Y = ", value, "; }"),
                       {context.input(0)});
}

// Applies `value` with a custom gradient: the expression `derivative` in X after `statements`.
// Training then keeps one tensor instead of one per term of the chain rule.
Outputs MapWithDerivative(NodeContext& context, const std::string& value,
                          const std::string& statements, const std::string& derivative) {
  return context.Apply(absl::StrCat("function (X) -> (Y) { Y = custom_gradient(", value,
                                    ", rule, X); }\n", "function rule (X, Y, DY) -> (DX) { ",
                                    statements, "D = ", derivative, "; DX = DY * D; }"),
                       {context.input(0)});
}

// `value` with $0 and $1 replaced by two float attributes.
Outputs MapWith(NodeContext& context, const char* value, absl::string_view first,
                float first_default, absl::string_view second = "", float second_default = 0) {
  TARTAN_ASSIGN_OR_RETURN(const float a, context.Float(first, first_default));
  TARTAN_ASSIGN_OR_RETURN(const float b, context.Float(second, second_default));
  return Map(context, absl::Substitute(value, Literal(a), Literal(b)));
}

Outputs Celu(NodeContext& context) {
  return MapWith(context, "max(X, 0) + min(0, $0 * expm1(X / $0))", "alpha", 1.0f);
}

Outputs Elu(NodeContext& context) {
  return MapWith(context, "X < 0 ? $0 * expm1(X) : X", "alpha", 1.0f);
}

Outputs Gelu(NodeContext& context) {
  const absl::StatusOr<std::string> form = context.String("approximate", "none");
  if (!form.ok()) return form.status();
  if (*form == "none") {
    return MapWithDerivative(context, "0.5 * X * (1 + erf(X * 0.70710678118654752))",  // 1/sqrt(2)
                             "P = exp(-0.5 * X * X) * 0.39894228040143268; ",  // 1/sqrt(2 pi)
                             "0.5 * (1 + erf(X * 0.70710678118654752)) + X * P");
  }
  if (*form == "tanh") {
    // sqrt(2/pi)
    return MapWithDerivative(
        context, "0.5 * X * (1 + tanh(0.79788456080286536 * (X + 0.044715 * X * X * X)))",
        "T = tanh(0.79788456080286536 * (X + 0.044715 * X * X * X)); "
        "Q = (1 - T) * (1 + T) * 0.79788456080286536 * (1 + 0.134145 * X * X); ",
        "0.5 * (1 + T + X * Q)");
  }
  return Invalid("attribute 'approximate': expected none or tanh, got ", *form);
}

Outputs HardSigmoid(NodeContext& context) {
  return MapWith(context, "max(0, min(1, $0 * X + $1))", "alpha", 0.2f, "beta", 0.5f);
}

Outputs LeakyRelu(NodeContext& context) {
  return MapWith(context, "X < 0 ? $0 * X : X", "alpha", 0.01f);
}

Outputs Selu(NodeContext& context) {
  return MapWith(context, "$1 * (X > 0 ? X : $0 * expm1(X))", "alpha", 1.67326319217681884765625f,
                 "gamma", 1.05070102214813232421875f);
}

Outputs Shrink(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const float bias, context.Float("bias", 0.0f));
  TARTAN_ASSIGN_OR_RETURN(const float lambda, context.Float("lambd", 0.5f));
  const std::string value =
      absl::Substitute("X < -$0 ? X + $1 : (X > $0 ? X - $1 : 0)", Literal(lambda), Literal(bias));
  // Integers are shrunk as floats.
  const DataType type = context.input(0).type();
  return Map(context, IsFloat(type) ? value : Cast(value, type));
}

Outputs Swish(NodeContext& context) {
  return MapWith(context, "X * sigmoid($0 * X)", "alpha", 1.0f);
}

Outputs SwiGlu(NodeContext& context) {
  if (context.input(0).dims() != context.input(1).dims()) {
    return Invalid("a gate ", context.input(0).shape().ToString(), " for ",
                   context.input(1).shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(const float alpha, context.Float("alpha", 1.0f));
  return context.Apply(
      absl::Substitute("function (A, B) -> (Y) { Y = A * sigmoid($0 * A) * B; }", Literal(alpha)));
}

Outputs ThresholdedRelu(NodeContext& context) {
  return MapWith(context, "X > $0 ? X : 0", "alpha", 1.0f);
}

constexpr OperatorRow kOperators[] = {
    {"Celu", 12, {1, 1}, Celu},
    {"Elu", 1, {1, 1}, Elu},
    {"Gelu", 20, {1, 1}, Gelu},
    {"HardSigmoid", 1, {1, 1}, HardSigmoid},
    TileRow("HardSwish", 14, 1, "function (X) -> (Y) { Y = X * max(0, min(1, X / 6 + 0.5)); }"),
    {"LeakyRelu", 1, {1, 1}, LeakyRelu},
    TileRow("Mish", 18, 1,
            "function (X) -> (Y) { Y = X * tanh(max(X, 0) + log1p(exp(-abs(X)))); }"),
    TileRow("PRelu", 1, 2, kPRelu, SlopePerChannel),
    TileRow("PRelu", 7, 2, kPRelu),
    TileRow("Relu", 1, 1, kRelu),
    {"Selu", 1, {1, 1}, Selu},
    {"Shrink", 9, {1, 1}, Shrink},
    TileRow("Sigmoid", 1, 1, kSigmoid),
    TileRow("Softplus", 1, 1, "function (X) -> (Y) { Y = max(X, 0) + log1p(exp(-abs(X))); }"),
    TileRow("Softsign", 1, 1, "function (X) -> (Y) { Y = X / (1 + abs(X)); }"),
    {"SwiGLU", 28, {2, 2}, SwiGlu},
    {"Swish", 24, {1, 1}, Swish},
    {"ThresholdedRelu", 10, {1, 1}, ThresholdedRelu},
};

}  // namespace

absl::Span<const OperatorRow> ActivationOperators() { return kOperators; }

}  // namespace tartan::onnx
