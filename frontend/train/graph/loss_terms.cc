// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/graph/loss_terms.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/function.h"
#include "frontend/train/graph/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::train {

absl::StatusOr<LossTerms> ApplyTerms(const std::vector<std::string>& names,
                                     const std::vector<std::string>& statements,
                                     const std::vector<api::Tensor>& inputs, absl::string_view what,
                                     const GradientRule& rule) {
  TARTAN_ASSIGN_OR_RETURN(
      const api::Function function,
      api::Function::FromTile(
          absl::StrCat("function (", absl::StrJoin(names, ", "), ") -> (NUM, DEN", rule.read,
                       ") {\n", absl::StrJoin(statements, ";\n"), ";\n}\n", rule.text),
          what));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::Tensor> results, function.Apply(inputs, "loss"));
  return LossTerms{results[0], results[1]};
}

absl::Status DoNotFit(const Loss& loss, const api::Tensor& output, const api::Tensor& target,
                      absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      Name(loss.kind), ": the output ", output.shape().ToString(),
      target.defined() ? absl::StrCat(" and the target ", target.shape().ToString()) : "", ": ",
      why));
}

std::string SumByExample(absl::string_view target, const std::vector<int64_t>& dims,
                         absl::string_view value) {
  return absl::StrCat(target, "[i0 : ", dims[0], "] = +(", value, "[",
                      Indices(static_cast<int64_t>(dims.size())), "])");
}

void AppendRepeated(absl::string_view name, int64_t count, double value,
                    std::vector<std::string>* statements) {
  statements->push_back(absl::StrCat(name, "1 = ", Number(value)));
  statements->push_back(absl::StrCat(name, "[i0 : ", count, "] = +(", name, "1[])"));
}

std::string FocalFactor(absl::string_view share, double gamma) {
  return absl::StrCat("exp(", Number(gamma), " * log(max(", share, ", ", Number(1e-37), ")))");
}

int64_t ElementsPerExample(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (size_t d = 1; d < dims.size(); ++d) count *= dims[d];
  return count;
}

}  // namespace tartan::train
