// SPDX-License-Identifier: Apache-2.0
// Optimizers of training graphs with one node per weight or group of weights, and mixed precision
// scaling. onnxruntime writes results into operands; here they are new values.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/microsoft/operators.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Operand `i` as a scalar; `otherwise` if it is left out.
absl::StatusOr<Tensor> ScalarAt(const NodeContext& context, int i, absl::string_view what,
                                const Tensor& otherwise) {
  if (!context.HasInput(i)) return otherwise;
  if (context.input(i).shape().element_count() != 1) {
    return Invalid(what, " is ", context.input(i).shape().ToString(), ", not a scalar");
  }
  return Reshape(context, context.input(i), {});
}

Tensor Real(double value) { return ConstantScalar(DataType::kFloat32, value); }

// The operands shared by all weights of a node.
struct Update {
  Tensor rate, count, scale, norm, flag;

  std::vector<Tensor> With(const Tensor& weight, const Tensor& gradient, const Tensor& first,
                           const Tensor& second) const {
    return {rate, count, scale, norm, flag, weight, gradient, first, second};
  }
};

struct Rule {
  double alpha = 0.9;  // decay of the averages of the gradient (alpha) and of its squares (beta)
  double beta = 0.999;
  double lambda = 0;
  double epsilon = 1e-6;
  double clip = 1;       // the maximum norm of all gradients, if that norm is an operand
  double ratio_min = 0;  // of LAMB
  double ratio_max = INFINITY;
  bool corrects = true;
};

// A function of the scalars of Update and a weight with its gradient and averages. `step` computes
// DELTA from the averages MS and VS, with the corrections CM and CV. Results: averages, weight, its
// change.
std::string UpdateText(const Rule& rule, absl::string_view step) {
  const auto correction = [&](double average) {
    return rule.corrects ? absl::StrCat("1 - pow(", Literal(average), ", T)") : "T * 0 + 1";
  };
  return absl::Substitute(
      R"(
      function (R, N, L, NORM, F, W, G0, M, V) -> (MNEW, VNEW, WNEW, DNEW) {
        T = as_float(N, 32);
        D = NORM > L * $0 ? NORM / $0 : L;
        G = as_float(G0, 32) / D;
        MS = $1 * M + $2 * G;
        VS = $3 * V + $4 * G * G;
        CM = $5;
        CV = $6;
        $7;
        MNEW = F ? as_float(MS, 32) : as_float(M, 32);
        VNEW = F ? as_float(VS, 32) : as_float(V, 32);
        WNEW = F ? W + DELTA : W;
        DNEW = F ? DELTA : DELTA * 0;
      })",
      Literal(rule.clip), Literal(rule.alpha), Literal(1 - rule.alpha), Literal(rule.beta),
      Literal(1 - rule.beta), correction(rule.alpha), correction(rule.beta), step);
}

// Reads the scalars; an absent norm is 0 and never clips.
absl::StatusOr<Update> UpdateOf(const NodeContext& context, int rate, int count, int scale,
                                int norm, int flag) {
  Update update;
  TARTAN_ASSIGN_OR_RETURN(update.rate, ScalarAt(context, rate, "the rate", Real(1)));
  TARTAN_ASSIGN_OR_RETURN(update.count, ScalarAt(context, count, "the count of updates",
                                                 ConstantScalar(DataType::kInt64, 1)));
  TARTAN_ASSIGN_OR_RETURN(update.scale, ScalarAt(context, scale, "the loss scale", Real(1)));
  TARTAN_ASSIGN_OR_RETURN(update.norm, ScalarAt(context, norm, "the norm", Real(0)));
  TARTAN_ASSIGN_OR_RETURN(update.flag, ScalarAt(context, flag, "the update signal",
                                                ConstantScalar(DataType::kBool, 1)));
  return update;
}

absl::StatusOr<Tensor> NextCount(const NodeContext& context, const Tensor& count,
                                 const Tensor& flag) {
  return context.ApplyOne(
      TileFunction("N, F", "Y", {absl::StrCat("Y = F ? ", Cast("N + 1", count.type()), " : N")}),
      {count, flag});
}

absl::Status CheckWeight(const NodeContext& context, int weight) {
  for (int i = weight; i < weight + 4; ++i) {
    if (!context.HasInput(i)) return Invalid("operand ", i, " is missing");
    TARTAN_RETURN_IF_ERROR(context.CheckDims(i, context.input(weight).dims()));
  }
  return absl::OkStatus();
}

// Operands: rate, update count, weight, gradient, both averages, the 16-bit weight, loss scale,
// norm of all gradients, update signal. Results: count, averages, weight, its change, the 16-bit
// weight. Mode 1 decays after the step, and adds epsilon before the correction.
Outputs AdamOptimizer(NodeContext& context) {
  Rule rule;
  TARTAN_ASSIGN_OR_RETURN(rule.alpha, context.Float("alpha", 0.9f));
  TARTAN_ASSIGN_OR_RETURN(rule.beta, context.Float("beta", 0.999f));
  TARTAN_ASSIGN_OR_RETURN(rule.lambda, context.Float("lambda", 0.0f));
  TARTAN_ASSIGN_OR_RETURN(rule.epsilon, context.Float("epsilon", 1e-8f));
  TARTAN_ASSIGN_OR_RETURN(rule.clip, context.Float("max_norm_clip", 1.0f));
  TARTAN_ASSIGN_OR_RETURN(const int64_t corrects, context.Int("do_bias_correction", 1));
  TARTAN_ASSIGN_OR_RETURN(const int64_t mode, context.Int("weight_decay_mode", 0));
  if (mode != 0 && mode != 1) return Invalid("attribute 'weight_decay_mode' is ", mode);
  rule.corrects = corrects != 0;
  TARTAN_RETURN_IF_ERROR(CheckWeight(context, 2));
  TARTAN_ASSIGN_OR_RETURN(const Update update, UpdateOf(context, 0, 1, 7, 8, 9));
  const std::string step =
      mode == 0 ? absl::Substitute("DELTA = -R * (MS / CM / (sqrt(VS / CV) + $0) + $1 * W)",
                                   Literal(rule.epsilon), Literal(rule.lambda))
                : absl::Substitute(
                      "U = W - R * sqrt(CV) / CM * MS / (sqrt(VS) + $0);"
                      " DELTA = U - R * $1 * U - W",
                      Literal(rule.epsilon), Literal(rule.lambda));
  TARTAN_ASSIGN_OR_RETURN(
      const std::vector<Tensor> made,
      context.Apply(UpdateText(rule, step), update.With(context.input(2), context.input(3),
                                                        context.input(4), context.input(5))));
  std::vector<Tensor> outputs(6);
  TARTAN_ASSIGN_OR_RETURN(outputs[0], NextCount(context, update.count, update.flag));
  TARTAN_ASSIGN_OR_RETURN(outputs[1], ConvertTo(context, made[0], context.input(4).type()));
  TARTAN_ASSIGN_OR_RETURN(outputs[2], ConvertTo(context, made[1], context.input(5).type()));
  outputs[3] = made[2];
  TARTAN_ASSIGN_OR_RETURN(outputs[4], ConvertTo(context, made[3], context.input(3).type()));
  if (context.HasInput(6)) {
    TARTAN_ASSIGN_OR_RETURN(outputs[5], ConvertTo(context, made[2], context.input(6).type()));
  } else {
    outputs.pop_back();
  }
  return outputs;
}

// Element `group` of a list attribute.
absl::StatusOr<double> ForGroup(const NodeContext& context, absl::string_view name, int group,
                                double otherwise) {
  if (!context.HasAttribute(name)) return otherwise;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<float> values, context.Floats(name));
  if (static_cast<size_t>(group) < values.size()) return values[static_cast<size_t>(group)];
  return Invalid("attribute '", name, "' has ", values.size(),
                 " values, which include none for weight ", group);
}

// Operands: update signal, loss scale, norm of all gradients, rate, update count; then per weight:
// the weight, its gradient, both averages, the 16-bit weight. Results: count; per weight: the
// weight, its change, averages, the 16-bit weight.
Outputs LambOptimizer(NodeContext& context) {
  constexpr int kFirst = 5;
  constexpr int kOfEach = 5;
  TARTAN_ASSIGN_OR_RETURN(const int64_t corrects, context.Int("do_bias_correction", 1));
  TARTAN_ASSIGN_OR_RETURN(const float least, context.Float("ratio_min", -INFINITY));
  TARTAN_ASSIGN_OR_RETURN(const float greatest, context.Float("ratio_max", INFINITY));
  TARTAN_ASSIGN_OR_RETURN(const Update update, UpdateOf(context, 3, 4, 1, 2, 0));
  std::vector<Tensor> outputs(1);
  TARTAN_ASSIGN_OR_RETURN(outputs[0], NextCount(context, update.count, update.flag));
  for (int first = kFirst, group = 0; first < context.input_count(); first += kOfEach, ++group) {
    Rule rule;
    TARTAN_ASSIGN_OR_RETURN(rule.alpha, ForGroup(context, "alpha", group, 0.9));
    TARTAN_ASSIGN_OR_RETURN(rule.beta, ForGroup(context, "beta", group, 0.999));
    TARTAN_ASSIGN_OR_RETURN(rule.lambda, ForGroup(context, "lambda", group, 0));
    TARTAN_ASSIGN_OR_RETURN(rule.epsilon, ForGroup(context, "epsilon", group, 1e-6));
    TARTAN_ASSIGN_OR_RETURN(rule.clip, ForGroup(context, "max_norm_clip", group, 1));
    rule.corrects = corrects != 0;
    TARTAN_RETURN_IF_ERROR(CheckWeight(context, first));
    const Tensor& weight = context.input(first);
    const std::vector<std::string> at = IndexNames(weight.rank());
    const std::string step = absl::Substitute(
        "U = MS / CM / (sqrt(VS / CV) + $0) + $1 * W; WW = as_float(W, 32) * as_float(W, 32);"
        " UU = U * U; SW[] = +($2); SU[] = +($3); Q = sqrt(SW) / sqrt(SU);"
        " TRUST = SW > 0 && SU > 0 ? min(max(Q, $4), $5) : Q * 0 + 1;"
        " TR = SW > 0 && SU > 0 ? TRUST : as_float(1, 32); DELTA = -R * TR * U",
        Literal(rule.epsilon), Literal(rule.lambda), Read("WW", at), Read("UU", at), Literal(least),
        Literal(greatest));
    TARTAN_ASSIGN_OR_RETURN(
        const std::vector<Tensor> made,
        context.Apply(UpdateText(rule, step),
                      update.With(weight, context.input(first + 1), context.input(first + 2),
                                  context.input(first + 3))));
    outputs.push_back(made[2]);
    TARTAN_ASSIGN_OR_RETURN(outputs.emplace_back(),
                            ConvertTo(context, made[3], context.input(first + 1).type()));
    for (int average = 0; average < 2; ++average) {
      TARTAN_ASSIGN_OR_RETURN(
          outputs.emplace_back(),
          ConvertTo(context, made[average], context.input(first + 2 + average).type()));
    }
    outputs.emplace_back();
    if (context.HasInput(first + 4)) {
      TARTAN_ASSIGN_OR_RETURN(outputs.back(),
                              ConvertTo(context, made[2], context.input(first + 4).type()));
    }
  }
  return outputs;
}

// Multiplies each tensor by operand 0, a scale, and converts it to the type `to`. With
// `fuse_outputs` the results are concatenated to one vector.
Outputs MixedPrecisionScale(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t to, context.Int("to"));
  TARTAN_ASSIGN_OR_RETURN(const int64_t fuses, context.Int("fuse_outputs", 0));
  DataType type = DataType::kFloat32;
  if (to == TensorProto::FLOAT16) {
    type = DataType::kFloat16;
  } else if (to == TensorProto::BFLOAT16) {
    type = DataType::kBFloat16;
  } else if (to != TensorProto::FLOAT) {
    return Invalid("attribute 'to' is ", to, "; expected a float type of 16 or 32 bits");
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor scale, ScalarAt(context, 0, "the scale", Real(1)));
  std::vector<Tensor> outputs;
  for (int i = 1; i < context.input_count(); ++i) {
    TARTAN_ASSIGN_OR_RETURN(
        std::vector<Tensor> made,
        context.Apply(TileFunction("X, S", "Y", {absl::StrCat("Y = ", Cast("X * S", type))}),
                      {context.input(i), scale}));
    if (fuses != 0) {
      TARTAN_ASSIGN_OR_RETURN(made[0],
                              Reshape(context, made[0], {made[0].shape().element_count()}));
    }
    outputs.push_back(std::move(made[0]));
  }
  if (fuses == 0 || outputs.size() == 1) return outputs;
  std::vector<std::string> statements;
  std::string sum;
  int64_t total = 0;
  for (const Tensor& part : outputs) total += part.shape().element_count();
  int64_t start = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    statements.push_back(absl::StrCat("P", i, "[i + ", start, " : ", total, "] = +(X", i, "[i])"));
    absl::StrAppend(&sum, i == 0 ? "" : " + ", "P", i);
    start += outputs[i].shape().element_count();
  }
  statements.push_back(absl::StrCat("Y = ", Cast(sum, type)));
  return context.Apply(
      TileFunction(NameList("X", static_cast<int64_t>(outputs.size())), "Y", statements), outputs);
}

constexpr OperatorRow kOperators[] = {
    MicrosoftRow("AdamOptimizer", {6, 10}, AdamOptimizer),
    // Up to 1024 weights; all operands are optional.
    MicrosoftRow("LambOptimizer", {0, 5 + 5 * 1024}, LambOptimizer),
    MicrosoftRow("MixedPrecisionScale", {2, kAnyNumber}, MixedPrecisionScale),
};

}  // namespace

absl::Span<const OperatorRow> OptimizerOperators() { return kOperators; }

}  // namespace tartan::onnx
