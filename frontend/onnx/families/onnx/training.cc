// SPDX-License-Identifier: Apache-2.0
// The operators of ai.onnx.preview.training: optimizer steps and Gradient.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "frontend/api/composer.h"
#include "frontend/api/gradient.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

constexpr char kDomain[] = "ai.onnx.preview.training";

// Applies an optimizer to each tensor. The operands are the learning rate, the update count, then
// `kinds` groups with one tensor each: parameters, gradients, states. `text` is a Tile function of
// the rate and the count (both of the tensor's type) and one tensor of each group. Its outputs are
// the new parameter and its new states.
Outputs ForEach(const NodeContext& context, int kinds, const std::string& text) {
  const int tensors = context.input_count() - 2;
  const int count = tensors / kinds;
  if (count == 0 || count * kinds != tensors) {
    return Invalid(tensors, " tensors, but expected ", kinds, " per optimised tensor");
  }
  std::vector<Tensor> outputs(static_cast<size_t>(count * (kinds - 1)));
  for (int i = 0; i < count; ++i) {
    const Tensor& x = context.input(2 + i);
    std::vector<Tensor> operands;
    for (int scalar = 0; scalar < 2; ++scalar) {
      const Tensor& value = context.input(scalar);
      if (value.shape().element_count() != 1) {
        return Invalid("operand ", scalar, " is ", value.shape().ToString(), ", not a scalar");
      }
      TARTAN_ASSIGN_OR_RETURN(const Tensor flat, Reshape(context, value, {}));
      TARTAN_ASSIGN_OR_RETURN(operands.emplace_back(), ConvertTo(context, flat, x.type()));
    }
    for (int kind = 0; kind < kinds; ++kind) {
      const Tensor& operand = context.input(2 + kind * count + i);
      if (operand.shape() != x.shape() || !IsFloat(x.type())) {
        return Invalid("operand ", 2 + kind * count + i, " is ", operand.shape().ToString(),
                       ", but the optimised tensor is ", x.shape().ToString());
      }
      operands.push_back(operand);
    }
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> made, context.Apply(text, operands));
    for (size_t o = 0; o < made.size(); ++o) {
      outputs[o * static_cast<size_t>(count) + static_cast<size_t>(i)] = made[o];
    }
  }
  return outputs;
}

absl::StatusOr<std::string> FloatLiteral(const NodeContext& context, absl::string_view name,
                                         float otherwise) {
  TARTAN_ASSIGN_OR_RETURN(const float value, context.Float(name, otherwise));
  return Literal(value);
}

absl::StatusOr<std::string> FloatLiteral(const NodeContext& context, absl::string_view name) {
  TARTAN_ASSIGN_OR_RETURN(const float value, context.Float(name));
  return Literal(value);
}

Outputs Adagrad(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string norm, FloatLiteral(context, "norm_coefficient", 0.0f));
  TARTAN_ASSIGN_OR_RETURN(const std::string decay, FloatLiteral(context, "decay_factor", 0.0f));
  TARTAN_ASSIGN_OR_RETURN(const std::string epsilon, FloatLiteral(context, "epsilon", 1e-6f));
  return ForEach(context, 3,
                 absl::Substitute(R"(
      function (R, T, X, G, H) -> (XNEW, HNEW) {
        D = $0 * X + G;
        HNEW = H + D * D;
        XNEW = X - R / (1 + T * $1) * D / (sqrt(HNEW) + $2);
      })",
                                  norm, decay, epsilon));
}

Outputs Adam(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const float alpha, context.Float("alpha", 0.9f));
  TARTAN_ASSIGN_OR_RETURN(const float beta, context.Float("beta", 0.999f));
  TARTAN_ASSIGN_OR_RETURN(const std::string epsilon, FloatLiteral(context, "epsilon", 1e-6f));
  TARTAN_ASSIGN_OR_RETURN(const std::string norm, FloatLiteral(context, "norm_coefficient", 0.0f));
  TARTAN_ASSIGN_OR_RETURN(const float after, context.Float("norm_coefficient_post", 0.0f));
  return ForEach(context, 4,
                 absl::Substitute(R"(
      function (R, T, X, G, V, H) -> (XNEW, VNEW, HNEW) {
        D = $0 * X + G;
        VNEW = $1 * V + $2 * D;
        HNEW = $3 * H + $4 * D * D;
        RATE = T > 0 ? R * sqrt(1 - pow($3, T)) / (1 - pow($1, T)) : R;
        XNEW = $6 * (X - RATE * VNEW / (sqrt(HNEW) + $5));
      })",
                                  norm, Literal(alpha), Literal(1 - double{alpha}), Literal(beta),
                                  Literal(1 - double{beta}), epsilon, Literal(1 - double{after})));
}

Outputs Momentum(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const std::string alpha, FloatLiteral(context, "alpha"));
  TARTAN_ASSIGN_OR_RETURN(const std::string beta, FloatLiteral(context, "beta"));
  TARTAN_ASSIGN_OR_RETURN(const std::string norm, FloatLiteral(context, "norm_coefficient"));
  TARTAN_ASSIGN_OR_RETURN(const std::string mode, context.String("mode"));
  if (mode != "standard" && mode != "nesterov") {
    return Invalid("attribute 'mode': expected standard or nesterov, got ", mode);
  }
  const std::string step = mode == "standard" ? "VNEW" : absl::StrCat("(D + ", alpha, " * VNEW)");
  return ForEach(context, 3,
                 absl::Substitute(R"(
      function (R, T, X, G, V) -> (XNEW, VNEW) {
        D = $0 * X + G;
        VNEW = $1 * V + (T > 0 ? $2 : 1.0) * D;
        XNEW = X - R * $3;
      })",
                                  norm, alpha, beta, step));
}

// `tensors` recomputed with the values `by` for the placeholders.
Outputs WithValues(const NodeContext& context, absl::Span<const Tensor> tensors,
                   absl::Span<const Tensor> placeholders, absl::Span<const Tensor> by) {
  TARTAN_ASSIGN_OR_RETURN(const api::ComposedProgram composed, api::Compose(placeholders, tensors));
  std::vector<Tensor> operands = composed.inputs;
  for (size_t i = 0; i < placeholders.size(); ++i) operands[i] = by[i];
  return context.Apply(composed.program.code(), operands);
}

// The derivatives of the sum of y's elements by each tensor of xs. y is a function of the tensors
// in xs and zs, which have the values of the operands.
Outputs Gradient(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(std::vector<std::string> names, context.Strings("xs"));
  const size_t count = names.size();
  if (context.HasAttribute("zs")) {
    TARTAN_ASSIGN_OR_RETURN(const std::vector<std::string> others, context.Strings("zs"));
    names.insert(names.end(), others.begin(), others.end());
  }
  TARTAN_ASSIGN_OR_RETURN(const std::string result, context.String("y"));
  if (static_cast<int>(names.size()) != context.input_count()) {
    return Invalid(context.input_count(), " operands for ", names.size(), " names in xs and zs");
  }
  std::map<std::string, Value> given;
  std::vector<Tensor> variables;
  for (size_t i = 0; i < names.size(); ++i) {
    const Tensor& x = context.input(static_cast<int>(i));
    if (i < count) variables.push_back(Tensor::Placeholder(names[i], x.shape()));
    given[names[i]] = i < count ? variables.back() : x;
  }
  TARTAN_ASSIGN_OR_RETURN(const Value y, context.services().Reimport(result, given));
  if (!y.tensor().defined()) return Invalid("'", result, "' is not a tensor");
  TARTAN_ASSIGN_OR_RETURN(const Tensor seed, api::Filled(y.tensor().shape(), 1));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> gradients,
                          api::Gradient({{y.tensor(), seed}}, variables));
  return WithValues(context, gradients, variables, context.inputs().first(count));
}

constexpr OperatorRow Row(absl::string_view name, int least, Handler handler) {
  OperatorRow row{name, 1, {least, kAnyNumber}, handler};
  row.domain = kDomain;
  return row;
}

constexpr OperatorRow kOperators[] = {
    Row("Adagrad", 5, Adagrad),
    Row("Adam", 6, Adam),
    Row("Gradient", 1, Gradient),
    Row("Momentum", 5, Momentum),
};

}  // namespace

absl::Span<const OperatorRow> TrainingOperators() { return kOperators; }

}  // namespace tartan::onnx
