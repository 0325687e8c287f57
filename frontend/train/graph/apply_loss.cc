// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/graph/apply_loss.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/function.h"
#include "frontend/train/graph/class_losses.h"
#include "frontend/train/graph/ctc_loss.h"
#include "frontend/train/graph/dice_loss.h"
#include "frontend/train/graph/loss_terms.h"
#include "frontend/train/graph/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

constexpr char kCrossEntropyOfLogits[] = "max(Y, 0) - Y * T + log1p(exp(-abs(Y)))";

// Statements that compute ELEMENT, the loss of two elements; empty for losses of other kinds.
std::vector<std::string> ElementStatements(const Loss& loss) {
  switch (loss.kind) {
    case LossKind::kBinaryCrossEntropy:
      if (loss.positive_weights.empty()) return {absl::StrCat("ELEMENT = ", kCrossEntropyOfLogits)};
      return {"ELEMENT = (1 - T) * Y + (1 + (PW - 1) * T) * (max(-Y, 0) + log1p(exp(-abs(Y))))"};
    case LossKind::kFocal: {
      // OTHERS is the probability of the other label.
      std::string element = absl::StrCat("CE * ", FocalFactor("OTHERS", loss.gamma));
      if (loss.alpha.has_value()) {
        absl::StrAppend(&element, " * (", Number(*loss.alpha), " * T + ", Number(1 - *loss.alpha),
                        " * (1 - T))");
      }
      return {absl::StrCat("CE = ", kCrossEntropyOfLogits),
              "OTHERS = sigmoid(Y) * (1 - T) + sigmoid(-Y) * T",
              absl::StrCat("ELEMENT = ", element)};
    }
    case LossKind::kMse:
      return {"ELEMENT = (Y - T) * (Y - T)"};
    case LossKind::kMae:
      return {"ELEMENT = abs(Y - T)"};
    case LossKind::kHuber: {
      const std::string delta = Number(loss.delta);
      return {absl::StrCat("ELEMENT = abs(Y - T) <= ", delta, " ? 0.5 * (Y - T) * (Y - T) : ",
                           delta, " * (abs(Y - T) - 0.5 * ", delta, ")")};
    }
    default:
      return {};
  }
}

// The weights of positive labels: one for all, or one per label along the class axis.
absl::StatusOr<api::Tensor> PositiveWeights(const Loss& loss, const api::Tensor& output,
                                            const api::Tensor& target) {
  const std::vector<double>& weights = loss.positive_weights;
  if (weights.size() == 1)
    return ClassWeights(loss, weights, output, target, std::vector<int64_t>{1});
  const std::optional<int64_t> axis = ClassAxis(loss.axis, output.dims(), target.dims());
  if (!axis.has_value()) return DoNotFit(loss, output, target, "pos_weight finds no class axis");
  return ClassWeights(loss, weights, output, target,
                      ScoreForm(output.dims(), *axis).AlongClasses());
}

// Elementwise losses: one term per element, and the mean is over all elements that count.
absl::StatusOr<LossTerms> ByElement(const Loss& loss, const api::Tensor& output,
                                    const api::Tensor& target,
                                    std::vector<std::string> statements) {
  const std::vector<int64_t>& dims = output.dims();
  std::vector<std::string> names = {"Y", "T"};
  std::vector<api::Tensor> inputs = {output, target};
  if (!loss.positive_weights.empty()) {
    names.push_back("PW");
    TARTAN_ASSIGN_OR_RETURN(inputs.emplace_back(), PositiveWeights(loss, output, target));
  }
  if (!loss.class_weights.empty())
    return DoNotFit(loss, output, target, "weights are for classes; labels have alpha=");
  if (loss.ignore_index.has_value()) {
    statements.push_back(absl::StrCat("USED = T != ", *loss.ignore_index));
    statements.push_back("TERM = USED ? ELEMENT : 0");
    statements.push_back("COUNT = USED ? as_float(1, 32) : as_float(0, 32)");
    statements.push_back(SumByExample("NUM", dims, "TERM"));
    statements.push_back(SumByExample("DEN", dims, "COUNT"));
  } else {
    statements.push_back(SumByExample("NUM", dims, "ELEMENT"));
    AppendRepeated("DEN", dims[0], static_cast<double>(ElementsPerExample(dims)), &statements);
  }
  return ApplyTerms(names, statements, inputs, Name(loss.kind));
}

// One term per row of scores.
absl::StatusOr<LossTerms> ByRow(const ScoreForm& form, const api::Tensor& output,
                                const api::Tensor& target, std::vector<std::string> statements) {
  statements.push_back(SumByExample("NUM", form.rows, "ELEMENT"));
  AppendRepeated("DEN", form.rows[0], static_cast<double>(ElementsPerExample(form.rows)),
                 &statements);
  return ApplyTerms({"Y", "T"}, statements, {output, target}, "loss");
}

// A loss of rows of scores and a target of the same sizes.
absl::StatusOr<LossTerms> OfRows(const Loss& loss, const api::Tensor& output,
                                 const api::Tensor& target, int64_t axis) {
  const ScoreForm form(output.dims(), axis);
  if (loss.kind == LossKind::kSoftmaxCrossEntropy) {
    std::vector<std::string> statements = form.LogSoftmax();
    const double share = loss.smoothing / static_cast<double>(form.classes);
    statements.insert(
        statements.end(),
        {absl::StrCat("SMOOTH = T * ", Number(1 - loss.smoothing), " + ", Number(share)),
         "PRODUCT = -LOGP * SMOOTH", form.RowSum("ELEMENT", "PRODUCT")});
    return ByRow(form, output, target, std::move(statements));
  }
  if (loss.kind == LossKind::kKl) {
    return ByRow(form, output, target,
                 {"PRODUCT = T > 0 ? T * (log(T) - Y) : 0", form.RowSum("ELEMENT", "PRODUCT")});
  }
  return ByRow(
      form, output, target,
      {"YT = Y * T", "YY = Y * Y", "TT = T * T", form.RowSum("SYT", "YT"), form.RowSum("SYY", "YY"),
       form.RowSum("STT", "TT"),
       absl::StrCat("ELEMENT = 1 - SYT / max(sqrt(SYY) * sqrt(STT), ", Number(1e-8), ")")});
}

absl::StatusOr<LossTerms> Triplet(const Loss& loss, const api::Tensor& output) {
  if (output.rank() != 2 || output.dims()[0] % 3 != 0) {
    return DoNotFit(loss, output, {}, "expected [3 N, D]: anchors, positives, negatives");
  }
  const int64_t count = output.dims()[0] / 3;
  const auto part = [&](absl::string_view name, int64_t number) {
    return absl::StrCat(name, "[n, d : ", count, ", ", output.dims()[1], "] = =(Y[n + ",
                        number * count, ", d])");
  };
  const auto distance = [&](absl::string_view name, absl::string_view other) {
    return absl::StrCat(name, "D = A - ", other, "; ", name, "S = ", name, "D * ", name, "D; ",
                        name, "Q[n : ", count, "] = +(", name, "S[n, d]); ", name, " = sqrt(", name,
                        "Q + ", Number(1e-12), ")");
  };
  std::vector<std::string> statements = {
      part("A", 0),         part("B", 1),
      part("C", 2),         distance("NEAR", "B"),
      distance("FAR", "C"), absl::StrCat("NUM = max(NEAR - FAR + ", Number(loss.margin), ", 0)")};
  AppendRepeated("DEN", count, 1, &statements);
  return ApplyTerms({"Y"}, statements, {output}, "triplet");
}

// The output, or the result of the user's function of output and target: one number, or one per
// example.
absl::StatusOr<LossTerms> Given(const Loss& loss, const api::Tensor& output,
                                const api::Tensor& target) {
  api::Tensor value = output;
  if (loss.kind == LossKind::kFunction) {
    const size_t wanted = loss.function->input_names().size();
    if (wanted < 1 || wanted > 2 || (wanted == 2 && !target.defined()) ||
        loss.function->output_names().size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(loss.function->file(), ": a loss is a function (Y, T) -> (L)"));
    }
    std::vector<api::Tensor> inputs = {output};
    if (wanted == 2) inputs.push_back(target);
    TARTAN_ASSIGN_OR_RETURN(const std::vector<api::Tensor> results,
                            loss.function->Apply(inputs, "loss"));
    value = results[0];
  }
  if (!IsFloat(value.type()) || (value.shape().element_count() != 1 && value.rank() != 1)) {
    return DoNotFit(loss, value, {}, "the loss must be a single number, or one number per example");
  }
  const bool is_one = value.shape().element_count() == 1;
  const std::string indices = Indices(value.rank());
  return ApplyTerms(
      {"L"},
      {is_one ? absl::StrCat("V[o : 1] = +(L[", indices, "])") : std::string("V = L"),
       "NUM = as_float(V, 32)", "DEN = V == V || V != V ? as_float(1, 32) : as_float(1, 32)"},
      {value}, "loss");
}

// A target that has one dimension of size 1 less than the output, with the output's sizes.
absl::StatusOr<api::Tensor> WithSizesOf(const api::Tensor& output, const api::Tensor& target) {
  if (target.dims() == output.dims()) return target;
  return api::Apply(absl::StrCat("function (T) -> (R) { R = reshape(T, ",
                                 absl::StrJoin(output.dims(), ", "), "); }"),
                    {target}, "target");
}

}  // namespace

absl::StatusOr<LossTerms> ApplyLoss(const Loss& loss, const api::Tensor& output,
                                    const api::Tensor& target) {
  if (loss.kind == LossKind::kOutput || loss.kind == LossKind::kFunction)
    return Given(loss, output, target);
  if (loss.kind == LossKind::kTriplet) return Triplet(loss, output);
  if (!IsFloat(output.type()))
    return DoNotFit(loss, output, target, "the output is not a float tensor");
  if (loss.kind == LossKind::kCtc) return CtcLoss(loss, output, target);
  const std::optional<int64_t> class_axis = ClassIndexAxis(loss, output.shape(), target.shape());
  std::vector<std::string> by_element = ElementStatements(loss);
  if (!class_axis.has_value() && (!by_element.empty() || loss.kind == LossKind::kDice)) {
    if (output.rank() < 1 || !FitsElements(output.dims(), target.dims()))
      return DoNotFit(loss, output, target, "their shapes do not match");
    TARTAN_ASSIGN_OR_RETURN(const api::Tensor fitting, WithSizesOf(output, target));
    return loss.kind == LossKind::kDice ? DiceLoss(loss, output, fitting, std::nullopt)
                                        : ByElement(loss, output, fitting, std::move(by_element));
  }
  if (output.rank() < 2) return DoNotFit(loss, output, target, "expected rows, [N, …, C]");
  const std::optional<int64_t> axis = class_axis.has_value() || target.dims() == output.dims()
                                          ? ClassAxis(loss.axis, output.dims(), target.dims())
                                          : std::nullopt;
  if (!axis.has_value()) {
    return DoNotFit(loss, output, target,
                    loss.axis.has_value()
                        ? absl::StrCat("their shapes do not match for the class axis ", *loss.axis)
                        : "their shapes do not match");
  }
  if (loss.kind == LossKind::kSoftmaxCrossEntropy && output.dims()[*axis] == 1) {
    return DoNotFit(loss, output, target,
                    "a single class has probability 1, so there is nothing to learn; use "
                    "binary_cross_entropy for one logit");
  }
  if (!class_axis.has_value()) return OfRows(loss, output, target, *axis);
  if (loss.kind == LossKind::kFocal) return FocalLossOfClasses(loss, output, target, *axis);
  if (loss.kind == LossKind::kDice) return DiceLoss(loss, output, target, axis);
  return CrossEntropyOfClasses(loss, output, target, *axis);
}

absl::StatusOr<api::Tensor> BatchLoss(const LossTerms& terms) {
  return api::Apply(
      "function (NUM, DEN) -> (L) { N[] = +(NUM[i]); D[] = +(DEN[i]); L = D > 0 ? N / D : N; }",
      {terms.numerator, terms.denominator}, "loss");
}

}  // namespace tartan::train
