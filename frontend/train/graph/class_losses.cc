// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/graph/class_losses.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/train/graph/loss_terms.h"
#include "frontend/train/graph/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

// The index of a tensor along the classes (ScoreForm::AlongClasses).
std::string ClassIndex(const ScoreForm& form) {
  std::string index = absl::StrCat("i", form.axis);
  for (size_t d = static_cast<size_t>(form.axis) + 1; d < form.dims.size(); ++d)
    absl::StrAppend(&index, ", 0");
  return index;
}

// `name`[rows] = the element of `value` of the row's class. `value` reads a tensor by all indices,
// or by ClassIndex.
std::string Pick(const ScoreForm& form, absl::string_view name, absl::string_view value) {
  return absl::StrCat(name, "[", form.outer, " : ", absl::StrJoin(form.rows, ", "), "] = +(T[",
                      form.outer, "] == CLASSES[", ClassIndex(form), "] ? ", value, ")");
}

// Completes a loss of rows: `element` is the loss of a row, and COUNT its weight.
absl::StatusOr<LossTerms> FinishRows(const Loss& loss, const ScoreForm& form, ClassTerms terms,
                                     absl::string_view element) {
  if (loss.ignore_index.has_value()) {
    terms.statements.push_back(absl::StrCat("USED = T != ", *loss.ignore_index));
    terms.statements.push_back(absl::StrCat("ELEMENT = USED ? ", element, " : 0"));
    terms.statements.push_back("WEIGHT = USED ? COUNT : 0");
  } else {
    terms.statements.push_back(absl::StrCat("ELEMENT = ", element));
    terms.statements.push_back("WEIGHT = COUNT");
  }
  terms.statements.push_back(SumByExample("NUM", form.rows, "ELEMENT"));
  terms.statements.push_back(SumByExample("DEN", form.rows, "WEIGHT"));
  return ApplyTerms(terms.names, terms.statements, terms.inputs, Name(loss.kind), terms.rule);
}

// Appends COUNT, the weight of each row's class.
void AppendCount(const ScoreForm& form, ClassTerms* terms) {
  terms->statements.push_back(terms->has_weights
                                  ? Pick(form, "COUNT", absl::StrCat("W[", ClassIndex(form), "]"))
                                  : "COUNT = T == T ? as_float(1, 32) : as_float(0, 32)");
}

// Appends KNOWN, the weight of each row's class, and 0 for a target that is no class.
void AppendKnown(const ScoreForm& form, const api::Tensor& target, ClassTerms* terms) {
  if (terms->has_weights) {
    terms->statements.push_back("KNOWN = COUNT");
    return;
  }
  for (const auto& [name, value] : {std::pair("FIRST", int64_t{0}), {"LAST", form.classes - 1}}) {
    std::vector<uint8_t> bytes(static_cast<size_t>(ByteWidth(target.type())));
    StoreElement(target.type(), value, 0, bytes.data());
    terms->names.push_back(name);
    terms->inputs.push_back(api::Tensor::Constant(HostTensor({target.type(), {}}, bytes)));
  }
  terms->statements.push_back(
      "KNOWN = T >= FIRST ? (T <= LAST ? as_float(1, 32) : as_float(0, 32)) : as_float(0, 32)");
}

// The share of each class in a smoothed target.
std::string EvenShare(const Loss& loss, const ScoreForm& form) {
  return Number(loss.smoothing / static_cast<double>(form.classes));
}

// The gradient of the cross entropy CROSS of rows, which reads `read`: the softmax minus the
// target. A derivative of the loss's statements would compute the statistics of the rows again, and
// store a tensor of all scores. `total`: the sum of the class weights.
std::string CrossEntropyRule(const Loss& loss, const ScoreForm& form, absl::string_view read,
                             double total) {
  const auto classes = static_cast<double>(form.classes);
  std::vector<std::string> statements = {
      absl::StrCat("K = D * KNOWN * ", Number(1 - loss.smoothing)),
      absl::StrCat("HIT[", form.all, " : ", absl::StrJoin(form.dims, ", "), "] = +(T[", form.outer,
                   "] == CLASSES[", ClassIndex(form), "] ? K[", form.outer, "])"),
      absl::StrCat("R = K + D * ", Number(loss.smoothing * total / classes)),
      form.FromRows("ROW", "R"), "DY = ROW * exp(Y - MAX - LOGSUM) - HIT"};
  if (loss.smoothing > 0) {
    statements.back() = "SHARP = ROW * exp(Y - MAX - LOGSUM) - HIT";
    statements.push_back(form.FromRows("EVEN", "D"));
    statements.push_back(absl::StrCat("DY = SHARP - EVEN * ", EvenShare(loss, form),
                                      loss.class_weights.empty() ? "" : " * W"));
  }
  return absl::StrCat("function rule (", read, ", CROSS, D) -> (DY) {\n",
                      absl::StrJoin(statements, ";\n"), ";\n}");
}

}  // namespace

ScoreForm::ScoreForm(std::vector<int64_t> sizes, int64_t class_axis)
    : dims(std::move(sizes)),
      axis(class_axis),
      classes(dims[static_cast<size_t>(axis)]),
      rows(dims),
      all(Indices(static_cast<int64_t>(dims.size()))) {
  rows.erase(rows.begin() + axis);
  std::vector<std::string> names;
  for (size_t d = 0; d < dims.size(); ++d) names.push_back(absl::StrCat("i", d));
  names[static_cast<size_t>(axis)] = "j";
  single = absl::StrJoin(names, ", ");
  std::vector<int64_t> single_sizes = dims;
  single_sizes[static_cast<size_t>(axis)] = 1;
  written = absl::StrCat("[", single, " : ", absl::StrJoin(single_sizes, ", "), "]");
  names.erase(names.begin() + axis);
  outer = absl::StrJoin(names, ", ");
}

std::string ScoreForm::ToRows(absl::string_view name, absl::string_view value) const {
  return absl::StrCat(name, "[", outer, " : ", absl::StrJoin(rows, ", "), "] = +(", value, "[",
                      single, "])");
}

std::string ScoreForm::FromRows(absl::string_view name, absl::string_view value) const {
  return absl::StrCat(name, written, " = +(", value, "[", outer, "])");
}

std::string ScoreForm::RowSum(absl::string_view name, absl::string_view value) const {
  return absl::StrCat(name, "[", outer, " : ", absl::StrJoin(rows, ", "), "] = +(", value, "[", all,
                      "])");
}

std::vector<std::string> ScoreForm::LogSoftmax() const {
  return {absl::StrCat("MAX", written, " = >(Y[", all, "])"),
          "SHIFTED = Y - stop_gradient(MAX)",
          "E = exp(SHIFTED)",
          absl::StrCat("SUM", written, " = +(E[", all, "])"),
          "LOGSUM = log(SUM)",
          "LOGP = SHIFTED - LOGSUM"};
}

std::vector<int64_t> ScoreForm::AlongClasses() const {
  std::vector<int64_t> along(dims.size() - static_cast<size_t>(axis), 1);
  along[0] = classes;
  return along;
}

absl::StatusOr<api::Tensor> ClassWeights(const Loss& loss, const std::vector<double>& weights,
                                         const api::Tensor& output, const api::Tensor& target,
                                         const std::vector<int64_t>& along) {
  if (static_cast<int64_t>(weights.size()) != along[0]) {
    return DoNotFit(loss, output, target,
                    absl::StrCat("the loss has ", weights.size(), " class weights"));
  }
  return api::Tensor::Constant(HostTensor::FromVector(
      {DataType::kFloat32, along}, std::vector<float>(weights.begin(), weights.end())));
}

absl::StatusOr<ClassTerms> BeginClasses(const Loss& loss, const api::Tensor& output,
                                        const api::Tensor& target, const ScoreForm& form) {
  ClassTerms terms;
  const std::vector<int64_t> along = form.AlongClasses();
  std::vector<uint8_t> bytes(static_cast<size_t>(form.classes * ByteWidth(target.type())));
  for (int64_t c = 0; c < form.classes; ++c) StoreElement(target.type(), c, c, bytes.data());
  terms.inputs = {output, target, api::Tensor::Constant(HostTensor({target.type(), along}, bytes))};
  terms.statements = form.LogSoftmax();
  terms.has_weights = !loss.class_weights.empty();
  if (!terms.has_weights) return terms;
  TARTAN_ASSIGN_OR_RETURN(const api::Tensor weights,
                          ClassWeights(loss, loss.class_weights, output, target, along));
  terms.names.push_back("W");
  terms.inputs.push_back(weights);
  return terms;
}

absl::StatusOr<LossTerms> FocalLossOfClasses(const Loss& loss, const api::Tensor& output,
                                             const api::Tensor& target, int64_t axis) {
  if (loss.alpha.has_value())
    return DoNotFit(loss, output, target, "alpha is for labels; classes have weights=");
  const ScoreForm form(output.dims(), axis);
  TARTAN_ASSIGN_OR_RETURN(ClassTerms terms, BeginClasses(loss, output, target, form));
  terms.statements.push_back(Pick(form, "PICKED", absl::StrCat("LOGP[", form.all, "]")));
  // 1 - p without cancellation.
  terms.statements.push_back("OTHERS = -expm1(PICKED)");
  AppendCount(form, &terms);
  return FinishRows(loss, form, std::move(terms),
                    absl::StrCat("-COUNT * ", FocalFactor("OTHERS", loss.gamma), " * PICKED"));
}

absl::StatusOr<LossTerms> CrossEntropyOfClasses(const Loss& loss, const api::Tensor& output,
                                                const api::Tensor& target, int64_t axis) {
  const ScoreForm form(output.dims(), axis);
  TARTAN_ASSIGN_OR_RETURN(ClassTerms terms, BeginClasses(loss, output, target, form));
  AppendCount(form, &terms);
  AppendKnown(form, target, &terms);
  const std::vector<double>& weights = loss.class_weights;
  const double total = terms.has_weights ? std::accumulate(weights.begin(), weights.end(), 0.0)
                                         : static_cast<double>(form.classes);
  // The log-softmax of the row's class is P - LOGS, and the sum over all classes ALL - total LOGS.
  std::vector<std::string>& statements = terms.statements;
  statements.push_back(Pick(form, "P", absl::StrCat("SHIFTED[", form.all, "]")));
  statements.push_back(form.ToRows("LOGS", "LOGSUM"));
  statements.push_back(absl::StrCat("CERTAIN = KNOWN > 0 ? ", Number(1 - loss.smoothing),
                                    " * KNOWN * (LOGS - P) : 0"));
  if (loss.smoothing > 0) {
    statements.push_back(terms.has_weights ? "TERMS = SHIFTED * W" : "TERMS = SHIFTED");
    statements.push_back(form.RowSum("ALL", "TERMS"));
    statements.push_back(absl::StrCat("VALUE = CERTAIN + ", EvenShare(loss, form), " * (",
                                      Number(total), " * LOGS - ALL)"));
  } else {
    statements.push_back("VALUE = CERTAIN");
  }
  const std::string read =
      absl::StrCat("Y, T, CLASSES, KNOWN, MAX, LOGSUM", terms.has_weights ? ", W" : "");
  statements.push_back(absl::StrCat("CROSS = custom_gradient(VALUE, rule, ", read, ")"));
  terms.rule.text = CrossEntropyRule(loss, form, read, total);
  terms.rule.read = ", KNOWN, MAX, LOGSUM";
  return FinishRows(loss, form, std::move(terms), "CROSS");
}

}  // namespace tartan::train
