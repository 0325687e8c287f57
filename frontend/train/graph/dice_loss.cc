// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/graph/dice_loss.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/train/graph/class_losses.h"
#include "frontend/train/graph/loss_terms.h"
#include "frontend/train/graph/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

// The sums by example, and by class if there is an axis.
void AppendDice(const Loss& loss, const std::vector<int64_t>& dims, std::optional<int64_t> axis,
                std::vector<std::string>* statements) {
  const std::string all = Indices(static_cast<int64_t>(dims.size()));
  std::string group = absl::StrCat("i0 : ", dims[0]);
  if (axis.has_value())
    group = absl::StrCat("i0, i", *axis, " : ", dims[0], ", ", dims[static_cast<size_t>(*axis)]);
  const std::string epsilon = Number(loss.epsilon);
  for (const auto& [sum, value] : {std::pair("SPH", "PH"), {"SP", "P"}, {"SH", "H"}})
    statements->push_back(absl::StrCat(sum, "[", group, "] = +(", value, "[", all, "])"));
  statements->push_back(
      absl::StrCat("LOST = 1 - (2 * SPH + ", epsilon, ") / (SP + SH + ", epsilon, ")"));
}

}  // namespace

absl::StatusOr<LossTerms> DiceLoss(const Loss& loss, const api::Tensor& output,
                                   const api::Tensor& target, std::optional<int64_t> class_axis) {
  const std::vector<int64_t>& dims = output.dims();
  std::optional<int64_t> axis = class_axis;
  if (!axis.has_value() && loss.axis.has_value()) {
    axis = ClassAxis(loss.axis, dims, target.dims());
    if (!axis.has_value())
      return DoNotFit(loss, output, target, absl::StrCat("there is no axis ", *loss.axis));
  }
  Loss unweighted = loss;
  unweighted.class_weights.clear();
  ClassTerms terms;
  if (class_axis.has_value()) {
    const ScoreForm form(dims, *axis);
    TARTAN_ASSIGN_OR_RETURN(terms, BeginClasses(unweighted, output, target, form));
    std::vector<int64_t> kept = dims;
    kept[static_cast<size_t>(*axis)] = 1;
    terms.statements.insert(
        terms.statements.end(),
        {absl::StrCat("TRUTH = reshape(T, ", absl::StrJoin(kept, ", "), ")"), "P1 = E / SUM",
         "H1 = TRUTH == CLASSES ? as_float(1, 32) : as_float(0, 32)"});
  } else {
    terms.names.pop_back();
    terms.inputs = {output, target};
    terms.statements = {"TRUTH = T", "P1 = sigmoid(Y)", "H1 = as_float(T, 32)"};
  }
  if (loss.ignore_index.has_value()) {
    terms.statements.push_back(absl::StrCat("USED = TRUTH != ", *loss.ignore_index));
    terms.statements.insert(terms.statements.end(), {"P = USED ? P1 : 0", "H = USED ? H1 : 0"});
  } else {
    terms.statements.insert(terms.statements.end(), {"P = P1", "H = H1"});
  }
  terms.statements.push_back("PH = P * H");
  AppendDice(loss, dims, axis, &terms.statements);
  if (!axis.has_value()) {
    if (!loss.class_weights.empty())
      return DoNotFit(loss, output, target, "weights need classes, or channels along axis=");
    terms.statements.push_back("NUM = LOST");
    AppendRepeated("DEN", dims[0], 1, &terms.statements);
    return ApplyTerms(terms.names, terms.statements, terms.inputs, Name(loss.kind));
  }
  const int64_t classes = dims[static_cast<size_t>(*axis)];
  double weight = static_cast<double>(classes);
  if (!loss.class_weights.empty()) {
    TARTAN_ASSIGN_OR_RETURN(const api::Tensor weights,
                            ClassWeights(loss, loss.class_weights, output, target, {classes}));
    terms.names.push_back("W");
    terms.inputs.push_back(weights);
    weight = 0;
    for (const double w : loss.class_weights) weight += w;
  }
  terms.statements.push_back(loss.class_weights.empty() ? "ELEMENT = LOST" : "ELEMENT = LOST * W");
  terms.statements.push_back(SumByExample("NUM", {dims[0], classes}, "ELEMENT"));
  AppendRepeated("DEN", dims[0], weight, &terms.statements);
  return ApplyTerms(terms.names, terms.statements, terms.inputs, Name(loss.kind));
}

}  // namespace tartan::train
