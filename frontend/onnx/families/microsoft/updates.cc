// SPDX-License-Identifier: Apache-2.0
// Parameter updates and related nodes of training graphs. onnxruntime writes many results into
// operands; here they are new values.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "frontend/onnx/families/microsoft/backward.h"
#include "frontend/onnx/families/microsoft/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

absl::StatusOr<Tensor> ScalarOf(const NodeContext& context, const Tensor& value,
                                absl::string_view what) {
  if (!value.defined() || value.shape().element_count() != 1) {
    return Invalid(what, " is ", value.defined() ? value.shape().ToString() : "missing",
                   ", not a scalar");
  }
  return Reshape(context, value, {});
}

// An operator of external tools. Operands: weights, gradient. The rate is an attribute.
Outputs Sgd(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(context.CheckDims(1, context.input(0).dims()));
  TARTAN_ASSIGN_OR_RETURN(const float rate, context.Float("lr"));
  return context.Apply(
      TileFunction("W, G", "NEW", {absl::StrCat("NEW = W - ", Literal(rate), " * G")}));
}

// Operands: rate, weights, gradient. Results: new weights, the step as a new gradient.
Outputs SgdOptimizer(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(context.CheckDims(2, context.input(1).dims()));
  TARTAN_ASSIGN_OR_RETURN(const Tensor rate, ScalarOf(context, context.input(0), "the rate"));
  return context.Apply(TileFunction("R, W, G", "NEW, STEP", {"STEP = -(R * G)", "NEW = W - R * G"}),
                       {rate, context.input(1), context.input(2)});
}

// Operands: sum, summand, and a flag. Here the flag enables the addition. In InPlaceAccumulatorV2
// it overwrites the sum instead, and result 0 is a constant true.
Outputs InPlaceAccumulator(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(context.CheckDims(1, context.input(0).dims()));
  const std::string type = Cast("S + V", context.input(0).type());
  if (!context.HasInput(2)) return context.Apply(TileFunction("S, V", "Y", {"Y = " + type}));
  TARTAN_ASSIGN_OR_RETURN(const Tensor flag, ScalarOf(context, context.input(2), "operand 2"));
  return context.Apply(TileFunction("S, V, F", "Y", {absl::StrCat("Y = F ? ", type, " : S")}),
                       {context.input(0), context.input(1), flag});
}

Outputs InPlaceAccumulatorV2(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(context.CheckDims(1, context.input(0).dims()));
  const DataType type = context.input(0).type();
  const Tensor yes = ConstantScalar(DataType::kBool, 1);
  const std::string sum = Cast("S + V", type);
  std::vector<Tensor> made;
  if (!context.HasInput(2)) {
    TARTAN_ASSIGN_OR_RETURN(made, context.Apply(TileFunction("S, V", "Y", {"Y = " + sum})));
  } else {
    TARTAN_ASSIGN_OR_RETURN(const Tensor flag, ScalarOf(context, context.input(2), "operand 2"));
    TARTAN_ASSIGN_OR_RETURN(
        made, context.Apply(TileFunction("S, V, F", "Y",
                                         {absl::StrCat("Y = F ? ", Cast("V", type), " : ", sum)}),
                            {context.input(0), context.input(1), flag}));
  }
  TARTAN_ASSIGN_OR_RETURN(const Tensor done, Reshape(context, yes, {1}));
  return std::vector<Tensor>{done, made[0]};
}

// Zeros, independent of the signal operand.
Outputs ZeroGradient(NodeContext& context) {
  return OneTensor(Zeros(context, context.input(0).type(), context.input(0).dims()));
}

Outputs Scale(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const int64_t down, context.Int("scale_down", 0));
  TARTAN_ASSIGN_OR_RETURN(const Tensor scale, ScalarOf(context, context.input(1), "the scale"));
  const DataType type = context.input(0).type();
  return context.Apply(
      TileFunction("X, S", "Y", {absl::StrCat("Y = ", Cast(down != 0 ? "X / S" : "X * S", type))}),
      {context.input(0), scale});
}

Outputs ReduceAllL2(NodeContext& context) {
  std::vector<std::string> statements;
  std::string sum = "0.0";
  for (int i = 0; i < context.input_count(); ++i) {
    const std::vector<std::string> names = IndexNames(context.input(i).rank());
    statements.push_back(absl::StrCat("SQ", i, " = ",
                                      Cast(absl::StrCat("X", i), DataType::kFloat32), " * ",
                                      Cast(absl::StrCat("X", i), DataType::kFloat32)));
    statements.push_back(absl::StrCat("S", i, "[] = +(", Read(absl::StrCat("SQ", i), names), ")"));
    absl::StrAppend(&sum, " + S", i);
  }
  statements.push_back(absl::StrCat("Y = sqrt(", sum, ")"));
  return context.Apply(TileFunction(NameList("X", context.input_count()), "Y", statements));
}

constexpr OperatorRow kRows[] = {
    MicrosoftRow("InPlaceAccumulator", {2, 3}, InPlaceAccumulator),
    MicrosoftRow("InPlaceAccumulatorV2", {2, 3}, InPlaceAccumulatorV2),
    MicrosoftRow("ReduceAllL2", {1, kAnyNumber}, ReduceAllL2),
    MicrosoftRow("SGD", {2, 2}, Sgd),
    MicrosoftRow("SGDOptimizer", {3, 3}, SgdOptimizer),
    MicrosoftRow("ZeroGradient", {2, 2}, ZeroGradient),
};

// The tensors of operand `i`, a sequence; `count` of them unless that is 0.
absl::StatusOr<std::vector<Tensor>> ListOf(const NodeContext& context, int i, size_t count) {
  if (!context.value(i).is_sequence()) return Invalid("operand ", i, " is not a sequence");
  std::vector<Tensor> tensors;
  for (const Value& value : context.value(i).elements()) tensors.push_back(value.tensor());
  if (count != 0 && tensors.size() != count) {
    return Invalid("operand ", i, " has ", tensors.size(), " tensors for ", count, " weights");
  }
  return tensors;
}

// Applies an optimizer to sequences. The lists of weights, gradients and states begin at operand
// `first`. `text` is a Tile function of `scalars`, F (the update flag) and one tensor of each list.
// Its results are the new weight and states. Results of the node: an update flag, then one list per
// kind.
OutputValues ForEachWeight(const NodeContext& context, int first, int kinds,
                           std::vector<Tensor> scalars, const std::string& text) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> weights, ListOf(context, first, 0));
  std::vector<std::vector<Tensor>> lists = {weights};
  for (int kind = 1; kind < kinds; ++kind) {
    TARTAN_ASSIGN_OR_RETURN(lists.emplace_back(), ListOf(context, first + kind, weights.size()));
  }
  const Value& signal = context.value(first + kinds);
  const Tensor given = signal.is_tensor() ? signal.tensor() : ConstantScalar(DataType::kBool, 1);
  TARTAN_ASSIGN_OR_RETURN(const Tensor flag, ScalarOf(context, given, "the update signal"));
  scalars.push_back(flag);
  std::vector<std::vector<Value>> made(static_cast<size_t>(kinds - 1));
  for (size_t i = 0; i < weights.size(); ++i) {
    std::vector<Tensor> operands = scalars;
    for (const std::vector<Tensor>& list : lists) {
      if (list[i].dims() != weights[i].dims()) {
        return Invalid("weight ", i, " is ", weights[i].shape().ToString(), ", with ",
                       list[i].shape().ToString());
      }
      operands.push_back(list[i]);
    }
    TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> results, context.Apply(text, operands));
    for (size_t kind = 0; kind < made.size(); ++kind) made[kind].emplace_back(results[kind]);
  }
  std::vector<Value> outputs = {flag};
  for (std::vector<Value>& list : made) outputs.push_back(Value::Sequence(std::move(list)));
  return outputs;
}

// Operands: rate, weights, gradients, update signal.
OutputValues SgdOptimizerV2(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const Tensor rate,
                          ScalarOf(context, context.value(0).tensor(), "the rate"));
  return ForEachWeight(context, 1, 2, {rate},
                       "function (R, F, W, G) -> (NEW) { NEW = F ? W - R * G : W; }");
}

// Operands: rate, update count, weights, gradients, moments, squares, update signal. Mode 0 is
// PyTorch's AdamW; mode 1 is Hugging Face's, which decays after the step.
OutputValues AdamWOptimizer(NodeContext& context) {
  TARTAN_ASSIGN_OR_RETURN(const float alpha, context.Float("alpha", 0.9f));
  TARTAN_ASSIGN_OR_RETURN(const float beta, context.Float("beta", 0.999f));
  TARTAN_ASSIGN_OR_RETURN(const float epsilon, context.Float("epsilon", 1e-8f));
  TARTAN_ASSIGN_OR_RETURN(const float decay, context.Float("weight_decay", 1e-2f));
  TARTAN_ASSIGN_OR_RETURN(const int64_t mode, context.Int("adam_mode", 0));
  TARTAN_ASSIGN_OR_RETURN(const int64_t corrects, context.Int("correct_bias", 1));
  if (mode != 0 && mode != 1) return Invalid("attribute 'adam_mode' is ", mode);
  TARTAN_ASSIGN_OR_RETURN(const Tensor rate,
                          ScalarOf(context, context.value(0).tensor(), "the rate"));
  TARTAN_ASSIGN_OR_RETURN(const Tensor count,
                          ScalarOf(context, context.value(1).tensor(), "the count of updates"));
  const std::string text = absl::Substitute(
      R"(
      function (R, N, F, W, G, M, V) -> (WNEW, MNEW, VNEW) {
        T = as_float(N, 32);
        MS = $0 * M + $1 * G;
        VS = $2 * V + $3 * G * G;
        CM = $4;
        CV = $5;
        WS = $6;
        WNEW = F ? WS : W;
        MNEW = F ? MS : M;
        VNEW = F ? VS : V;
      })",
      Literal(alpha), Literal(1 - double{alpha}), Literal(beta), Literal(1 - double{beta}),
      corrects != 0 ? absl::StrCat("1 - pow(", Literal(alpha), ", T)") : "T * 0 + 1",
      corrects != 0 ? absl::StrCat("1 - pow(", Literal(beta), ", T)") : "T * 0 + 1",
      mode == 0 ? absl::Substitute("W * (1 - R * $0) - R / CM * MS / (sqrt(VS) / sqrt(CV) + $1)",
                                   Literal(decay), Literal(epsilon))
                : absl::Substitute("(W - R * sqrt(CV) / CM * MS / (sqrt(VS) + $1)) * (1 - R * $0)",
                                   Literal(decay), Literal(epsilon)));
  return ForEachWeight(context, 2, 4, {rate, count}, text);
}

constexpr auto kPlain = InBothDomains(kRows);

// The rows above, and the operators that only Microsoft's domain has.
constexpr auto AllRows() {
  std::array<OperatorRow, kPlain.size() + 3> all{};
  for (size_t i = 0; i < kPlain.size(); ++i) all[i] = kPlain[i];
  all[kPlain.size()] = In(kMicrosoftDomain, ValueRow("SGDOptimizerV2", 1, {3, 4}, SgdOptimizerV2));
  all[kPlain.size() + 1] =
      In(kMicrosoftDomain, ValueRow("AdamWOptimizer", 1, {6, 7}, AdamWOptimizer));
  all[kPlain.size() + 2] = MicrosoftRow("Scale", {2, 2}, Scale);  // ONNX has a different Scale
  return all;
}
constexpr auto kOperators = AllRows();

}  // namespace

absl::Span<const OperatorRow> UpdateOperators() { return kOperators; }

}  // namespace tartan::onnx
