// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/precision/precision.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "frontend/train/graph/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

// Maximum scale: it must stay finite when it doubles.
constexpr double kMaxScale = 0x1p126;

// A vector whose elements are these scalars of the function.
std::string VectorOf(const std::vector<std::string>& elements) {
  std::string text = elements.back();
  for (size_t e = elements.size() - 1; e-- > 0;) {
    text = absl::StrCat("(K == ", e, " ? ", elements[e], " : ", text, ")");
  }
  return text;
}

}  // namespace

absl::string_view Name(Precision precision) {
  switch (precision) {
    case Precision::kBFloat16:
      return "bfloat16";
    case Precision::kFloat16:
      return "float16";
    case Precision::kFloat32:
      break;
  }
  return "float32";
}

absl::StatusOr<Precision> PrecisionNamed(absl::string_view name) {
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBFloat16, Precision::kFloat16}) {
    if (Name(precision) == name) return precision;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no precision '", name, "'; the precisions are float32, bfloat16 and float16"));
}

DataType TypeOf(Precision precision) {
  switch (precision) {
    case Precision::kBFloat16:
      return DataType::kBFloat16;
    case Precision::kFloat16:
      return DataType::kFloat16;
    case Precision::kFloat32:
      break;
  }
  return DataType::kFloat32;
}

absl::Status LossScale::Check() const {
  const auto within = [](absl::string_view what, double value, double least) {
    if (value >= least && value <= kMaxScale) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", value, ", not in [", least, ", ", kMaxScale, "]"));
  };
  TARTAN_RETURN_IF_ERROR(within("the first loss scale", first, kMinScale));
  if (fixed != 0) TARTAN_RETURN_IF_ERROR(within("the loss scale", fixed, kMinScale));
  return within("the number of steps until the loss scale doubles",
                static_cast<double>(growth_steps), 1);
}

absl::StatusOr<LossScale> ParseLossScale(absl::string_view text) {
  LossScale scale;
  if (text == "dynamic") return scale;
  if (!absl::SimpleAtod(text, &scale.fixed) || scale.fixed == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the loss scale must be 'dynamic' or a positive number, not '", text, "'"));
  }
  TARTAN_RETURN_IF_ERROR(scale.Check());
  return scale;
}

std::vector<float> FirstScale(const LossScale& scale) {
  std::vector<float> state(kScaleCount, 0);
  state[kScale] = static_cast<float>(scale.fixed != 0 ? scale.fixed : scale.first);
  return state;
}

absl::Status CheckScale(const LossScale& scale, const std::vector<double>& state) {
  const std::string steps =
      absl::StrCat("the gradients of the last ", state[kConsecutiveSkips], " steps are not finite");
  const char* end = "; parameters are as they were before them";
  if (scale.fixed == 0 && state[kScale] < kMinScale) {
    return absl::OutOfRangeError(absl::StrCat(steps, ", although the loss scale fell to ",
                                              state[kScale], ", below ", kMinScale, end));
  }
  if (scale.fixed != 0 && state[kConsecutiveSkips] >= kMaxConsecutiveSkips) {
    return absl::OutOfRangeError(
        absl::StrCat(steps, " with a loss scale of ", scale.fixed, ", which is fixed", end));
  }
  return absl::OkStatus();
}

absl::StatusOr<api::Tensor> ScaleOf(const api::Tensor& state) {
  return api::Apply(absl::StrCat("function (S) -> (X) { X[] = +(S[", int64_t{kScale}, "]); }"),
                    {state}, "loss_scale");
}

absl::Status UnscaleAll(const api::Tensor& scale, std::vector<api::Tensor>* gradients) {
  for (api::Tensor& gradient : *gradients) {
    TARTAN_ASSIGN_OR_RETURN(
        gradient, api::Apply("function (G, X) -> (U) { R = as_float(1, 32) / X; U = G * R; }",
                             {gradient, scale}, "unscaled"));
  }
  return absl::OkStatus();
}

absl::StatusOr<api::Tensor> AllFinite(const std::vector<api::Tensor>& gradients) {
  // 0 for finite numbers, NaN for others.
  api::Tensor sum;
  for (const api::Tensor& gradient : gradients) {
    TARTAN_ASSIGN_OR_RETURN(
        const api::Tensor part,
        api::Apply(absl::StrCat("function (G) -> (S) { Z = as_float(G - G, 32); S[] = +(Z[",
                                Indices(gradient.rank()), "]); }"),
                   {gradient}, "finite"));
    if (!sum.defined()) {
      sum = part;
      continue;
    }
    TARTAN_ASSIGN_OR_RETURN(
        sum, api::Apply("function (A, B) -> (C) { C = A + B; }", {sum, part}, "finite"));
  }
  return api::Apply("function (S) -> (OK) { OK = S == 0; }", {sum}, "finite");
}

absl::StatusOr<api::Tensor> NextScale(const LossScale& scale, const Optimizer& optimizer,
                                      const api::Tensor& state, const api::Tensor& finite,
                                      const api::Tensor& healthy) {
  std::string text = "function (S, F, OK) -> (R) {\n";
  for (int64_t e = 0; e < kScaleCount; ++e) absl::StrAppend(&text, "S", e, "[] = +(S[", e, "]);\n");
  const std::string zero = Number(0);
  const std::string one = Number(1);
  const auto element = [](int64_t e) { return absl::StrCat("S", e); };
  const auto average = [&](int64_t e, double beta) {
    return absl::StrCat("(F ? ", Number(beta), " * S", e, " + ", Number(1 - beta), " : S", e, ")");
  };
  std::vector<std::string> next(kScaleCount);
  const std::string good = absl::StrCat("(F ? ", element(kGood), " + ", one, " : ", zero, ")");
  next[kScale] = element(kScale);
  next[kGood] = good;
  if (scale.fixed == 0) {
    absl::StrAppend(&text, "GROWS = ", good,
                    " >= ", Number(static_cast<double>(scale.growth_steps)), ";\n");
    next[kScale] =
        absl::StrCat("(F ? (GROWS ? min(S0 * ", Number(2), ", ", Number(kMaxScale),
                     ") : S0) : max(S0 * ", Number(0.5), ", ", Number(kMinScale / 2), "))");
    next[kGood] = absl::StrCat("(GROWS ? ", zero, " : ", good, ")");
  }
  next[kSkippedUpdates] = absl::StrCat("(F ? S2 : S2 + ", one, ")");
  next[kConsecutiveSkips] = absl::StrCat("(F ? ", zero, " : S3 + ", one, ")");
  next[kAverage1] = average(kAverage1, optimizer.beta1);
  next[kAverage2] = average(kAverage2, optimizer.beta2);
  std::vector<std::string> names;
  for (size_t e = 0; e < next.size(); ++e) {
    names.push_back(absl::StrCat("N", e));
    absl::StrAppend(&text, names.back(), " = ", next[e], ";\n");
  }
  absl::StrAppend(&text, "K = index(S, 0);\nN = ", VectorOf(names), ";\nR = OK ? N : S;\n}");
  return api::Apply(text, {state, finite, healthy}, "next_scale");
}

absl::StatusOr<api::Tensor> CorrectedStepScalars(const api::Tensor& numbers,
                                                 const api::Tensor& next_state) {
  // Order as in StepScalars: rate, two corrections, the gradient factor.
  return api::Apply(absl::StrCat("function (H, S) -> (N) { A[] = +(S[", int64_t{kAverage1},
                                 "]); B[] = +(S[", int64_t{kAverage2},
                                 "]); C = as_float(1, 32) / A; D = as_float(1, 32) / B; "
                                 "K = index(H, 0); N = K == 1 ? C : (K == 2 ? D : H); }"),
                    {numbers, next_state}, "numbers");
}

}  // namespace tartan::train
