// SPDX-License-Identifier: Apache-2.0
// Classification losses for training.
#include <optional>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/families/onnx/families.h"
#include "frontend/onnx/families/shared/movement.h"
#include "frontend/onnx/import/constant_tensors.h"
#include "frontend/onnx/tile_text/reduction_text.h"
#include "frontend/onnx/tile_text/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// The class that is ignored: an attribute, or operand 3 of onnxruntime's operators.
absl::StatusOr<std::optional<int64_t>> IgnoredClass(NodeContext& context) {
  std::optional<int64_t> ignored;
  if (context.HasInput(3)) {
    TARTAN_ASSIGN_OR_RETURN(ignored, context.HostInt(3));
  } else if (context.HasAttribute("ignore_index")) {
    TARTAN_ASSIGN_OR_RETURN(ignored, context.Int("ignore_index"));
  }
  return ignored;
}

// X holds scores [batch, classes, …], operand 1 (T) the classes [batch, …], and the optional
// operand 2 (W) one weight per class.
absl::Status CheckOperands(NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& target = context.input(1);
  if (x.rank() < 2 || DroppedDims(x.dims(), {1}) != target.dims() || !IsInteger(target.type())) {
    return Invalid("scores ", x.shape().ToString(), " and classes ", target.shape().ToString(),
                   " do not fit");
  }
  if (context.HasInput(2) && context.input(2).shape().element_count() != x.dims()[1]) {
    return Invalid("weights ", context.input(2).shape().ToString(), " for ", x.dims()[1],
                   " classes");
  }
  TARTAN_ASSIGN_OR_RETURN(const std::optional<int64_t> ignored, IgnoredClass(context));
  return context.CheckInput(1, {PlainBounds(x, 1)}, "class", ignored);
}

// Appends the statements that compute LOSS from LOGP, the log probabilities. CLASSES counts from 0,
// so that comparing it with T selects the element of the class.
absl::Status AppendLoss(NodeContext& context, std::vector<std::string>* statements) {
  const Tensor& x = context.input(0);
  const std::vector<std::string> names = IndexNames(x.rank());
  std::vector<std::string> left = names;
  left.erase(left.begin() + 1);
  const std::vector<int64_t>& dims = context.input(1).dims();
  const auto pick = [&](absl::string_view target, const std::string& value) {
    statements->push_back(absl::StrCat(Write(target, left, dims), " = +(", Read("T", left),
                                       " == CLASSES[i1] ? ", value, ")"));
  };
  const auto sum = [&](absl::string_view target, absl::string_view source) {
    statements->push_back(absl::StrCat(target, "[] = +(", Read(source, left), ")"));
  };
  TARTAN_ASSIGN_OR_RETURN(const std::string reduction, context.String("reduction", "mean"));
  const bool has_weights = context.HasInput(2);
  TARTAN_ASSIGN_OR_RETURN(const std::optional<int64_t> ignored, IgnoredClass(context));
  pick("PICKED", Read("LOGP", names));
  if (has_weights) pick("CLASSWEIGHT", "W[i1]");
  std::string element = has_weights ? "-PICKED * CLASSWEIGHT" : "-PICKED";
  if (ignored.has_value()) {
    statements->push_back(absl::StrCat("COUNTS = T != ", Literal(*ignored)));
    element = absl::StrCat("COUNTS ? ", element, " : 0");
    if (reduction == "mean") {
      statements->push_back(absl::StrCat(
          "WEIGHT = ", has_weights ? "COUNTS ? CLASSWEIGHT : 0" : Cast("COUNTS", x.type())));
    }
  } else if (has_weights) {
    statements->push_back("WEIGHT = CLASSWEIGHT");
  }
  statements->push_back(absl::StrCat(reduction == "none" ? "LOSS" : "ELEMENT", " = ", element));
  if (reduction == "none") return absl::OkStatus();
  if (reduction == "sum") {
    sum("LOSS", "ELEMENT");
    return absl::OkStatus();
  }
  if (reduction != "mean") {
    return Invalid("attribute 'reduction': expected none, sum or mean, got ", reduction);
  }
  sum("TOTAL", "ELEMENT");
  if (ignored.has_value() || has_weights) {
    sum("TOTALWEIGHT", "WEIGHT");
    statements->push_back("LOSS = TOTAL / TOTALWEIGHT");
  } else {
    statements->push_back(
        absl::StrCat("LOSS = TOTAL / ", context.input(1).shape().element_count()));
  }
  return absl::OkStatus();
}

Outputs ApplyLoss(const NodeContext& context, const std::string& outputs,
                  const std::vector<std::string>& statements) {
  const Tensor& target = context.input(1);
  TARTAN_RETURN_IF_ERROR(CheckTable({context.input(0).dims()[1]}));
  std::vector<Tensor> operands = {context.input(0), target,
                                  Positions(target.type(), context.input(0).dims()[1])};
  if (!context.HasInput(2)) {
    return context.Apply(TileFunction("X, T, CLASSES", outputs, statements), operands);
  }
  operands.push_back(context.input(2));
  return context.Apply(TileFunction("X, T, CLASSES, W", outputs, statements), operands);
}

Outputs NegativeLogLikelihoodLoss(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(CheckOperands(context));
  std::vector<std::string> statements = {"LOGP = X"};
  TARTAN_RETURN_IF_ERROR(AppendLoss(context, &statements));
  return ApplyLoss(context, "LOSS", statements);
}

// The loss of unnormalized scores; the second output is their log probabilities.
Outputs SoftmaxCrossEntropyLoss(NodeContext& context) {
  TARTAN_RETURN_IF_ERROR(CheckOperands(context));
  const std::vector<int64_t>& dims = context.input(0).dims();
  std::vector<std::string> statements = {
      ReduceStatement("M", '>', "X", dims, {1}), "D = X - stop_gradient(M)", "E = exp(D)",
      ReduceStatement("S", '+', "E", dims, {1}), "LOGP = D - log(S)"};
  TARTAN_RETURN_IF_ERROR(AppendLoss(context, &statements));
  return ApplyLoss(context, context.WantsOutput(1) ? "LOSS, LOGP" : "LOSS", statements);
}

constexpr OperatorRow kOperators[] = {
    {"NegativeLogLikelihoodLoss", 12, {2, 3}, NegativeLogLikelihoodLoss},
    {"SoftmaxCrossEntropyLoss", 12, {2, 3}, SoftmaxCrossEntropyLoss},
};

}  // namespace

absl::Span<const OperatorRow> LossOperators() { return kOperators; }

}  // namespace tartan::onnx
