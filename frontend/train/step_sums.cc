// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/step_sums.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/function.h"
#include "frontend/train/graph/class_losses.h"
#include "frontend/train/graph/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

// Statements, for targets of class indices, that compute C, the number of rows whose class has the
// maximum score, and N, the number of rows. Ties count for the first class, so that constant scores
// are not always correct. A row with NaN is wrong. Empty for other losses and targets.
std::string CountCorrect(const Loss& loss, const api::Tensor& output, const api::Tensor& target) {
  if (!target.defined()) return "";
  const std::optional<int64_t> axis = ClassIndexAxis(loss, output.shape(), target.shape());
  if (!axis.has_value()) return "";
  const ScoreForm form(output.dims(), *axis);
  const std::string sizes = absl::StrJoin(form.rows, ", ");
  std::vector<int64_t> kept = form.dims;
  kept[static_cast<size_t>(*axis)] = 1;
  const std::string counts =
      loss.ignore_index.has_value()
          ? absl::StrCat("T != ", *loss.ignore_index, " ? as_float(1, 32) : as_float(0, 32)")
          : std::string("as_float(1, 32)");
  return absl::StrCat("M[", form.outer, " : ", sizes, "] = >(Y[", form.all, "]); ",
                      "FIRST = Y == reshape(M, ", absl::StrJoin(kept, ", "), ") ? index(Y, ", *axis,
                      ") : ", form.classes, "; F[", form.outer, " : ", sizes, "] = <(FIRST[",
                      form.all, "]); ", "U = as_int(T, 64) == as_int(F, 64) ? ", counts,
                      " : as_float(0, 32); C[] = +(U[", form.outer, "]); V = F == F ? ", counts,
                      " : as_float(0, 32); N[] = +(V[", form.outer, "])");
}

}  // namespace

absl::StatusOr<api::Tensor> NextSums(const api::Tensor& sums, const api::Tensor& healthy,
                                     const Loss& loss, const LossTerms& terms,
                                     const api::Tensor& output, const api::Tensor& target) {
  std::vector<api::Tensor> inputs = {sums, healthy, terms.numerator, terms.denominator};
  std::string names = "S, OK, NUM, DEN";
  std::string counted = CountCorrect(loss, output, target);
  if (counted.empty()) {
    counted = "Z = as_float(0, 32); C = Z; N = Z";
  } else {
    names += ", Y, T";
    inputs.insert(inputs.end(), {output, target});
  }
  return api::Apply(
      absl::StrCat("function (", names, ") -> (R) { A[] = +(NUM[i]); B[] = +(DEN[i]); ", counted,
                   "; PA[i : 4] = +(A[]), i < 1; PB[i + 1 : 4] = +(B[]), i < 1;"
                   " PC[i + 2 : 4] = +(C[]), i < 1; PD[i + 3 : 4] = +(N[]), i < 1;"
                   " P = PA + PB + PC + PD; R = OK ? S + P : S; }"),
      inputs, "sums");
}

absl::StatusOr<api::Tensor> TakesEffect(const api::Tensor& skipped, const api::Tensor& loss) {
  return api::Apply("function (S, L) -> (OK) { OK = S == 0 && L - L == 0; }", {skipped, loss},
                    "ok");
}

absl::StatusOr<api::Tensor> NextSkipped(const api::Tensor& skipped, const api::Tensor& healthy) {
  return api::Apply("function (S, OK) -> (N) { N = as_int(OK ? 0 : S + 1, 32); }",
                    {skipped, healthy}, "skipped");
}

absl::StatusOr<api::Tensor> CountNonFinite(const api::Tensor& tensor) {
  return api::Apply(
      absl::StrCat("function (X) -> (N) { B = as_int(X - X == 0 ? 0 : 1, 32); N[] = +(B[",
                   Indices(tensor.rank()), "]); }"),
      {tensor}, "count");
}

absl::Status AddCount(std::string name, const api::Tensor& tensor, std::vector<api::Tensor>* counts,
                      std::vector<std::string>* names) {
  if (!IsFloat(tensor.type()) || tensor.shape().element_count() == 0) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(counts->emplace_back(), CountNonFinite(tensor));
  names->push_back(std::move(name));
  return absl::OkStatus();
}

}  // namespace tartan::train
