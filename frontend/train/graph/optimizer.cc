// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/graph/optimizer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/function.h"
#include "frontend/train/graph/tile_text.h"
#include "tile/base/status_macros.h"

namespace tartan::train {
namespace {

struct Row {
  OptimizerKind kind;
  const char* name;
  int slots;
};
constexpr Row kRows[] = {
    {OptimizerKind::kSgd, "sgd", 0},           {OptimizerKind::kMomentum, "momentum", 1},
    {OptimizerKind::kNesterov, "nesterov", 1}, {OptimizerKind::kRmsprop, "rmsprop", 1},
    {OptimizerKind::kAdagrad, "adagrad", 1},   {OptimizerKind::kAdam, "adam", 2},
    {OptimizerKind::kAdamW, "adamw", 2},       {OptimizerKind::kLion, "lion", 1},
    {OptimizerKind::kLamb, "lamb", 2},
};

const Row& RowOf(OptimizerKind kind) {
  for (const Row& row : kRows) {
    if (row.kind == kind) return row;
  }
  return kRows[0];
}

bool IsDecoupled(OptimizerKind kind) {
  return kind == OptimizerKind::kAdamW || kind == OptimizerKind::kLion ||
         kind == OptimizerKind::kLamb;
}

// Statements that compute NP from P and G, with the rate R and the bias corrections C1 and C2. They
// also compute N0 and N1 for the slots S0 and S1.
std::vector<std::string> Formula(const Optimizer& optimizer, double decay, int64_t rank) {
  const std::string b1 = Number(optimizer.beta1);
  const std::string a1 = Number(1 - optimizer.beta1);
  const std::string b2 = Number(optimizer.beta2);
  const std::string a2 = Number(1 - optimizer.beta2);
  const std::string epsilon = Number(optimizer.epsilon);
  const std::vector<std::string> averages = {
      absl::StrCat("N0 = ", b1, " * S0 + ", a1, " * G"),
      absl::StrCat("N1 = ", b2, " * S1 + ", a2, " * G * G"),
      absl::StrCat("D = N0 * C1 / (sqrt(N1 * C2) + ", epsilon, ")")};
  switch (optimizer.kind) {
    case OptimizerKind::kSgd:
      return {"NP = P - R * G"};
    case OptimizerKind::kMomentum:
      return {absl::StrCat("N0 = ", Number(optimizer.momentum), " * S0 + G"), "NP = P - R * N0"};
    case OptimizerKind::kNesterov:
      return {absl::StrCat("N0 = ", Number(optimizer.momentum), " * S0 + G"),
              absl::StrCat("NP = P - R * (G + ", Number(optimizer.momentum), " * N0)")};
    case OptimizerKind::kRmsprop:
      return {absl::StrCat("N0 = ", Number(optimizer.smoothing), " * S0 + ",
                           Number(1 - optimizer.smoothing), " * G * G"),
              absl::StrCat("NP = P - R * G / (sqrt(N0) + ", epsilon, ")")};
    case OptimizerKind::kAdagrad:
      return {"N0 = S0 + G * G", absl::StrCat("NP = P - R * G / (sqrt(N0) + ", epsilon, ")")};
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW: {
      std::vector<std::string> statements = averages;
      statements.push_back(decay != 0 && IsDecoupled(optimizer.kind)
                               ? absl::StrCat("NP = P - R * (D + ", Number(decay), " * P)")
                               : "NP = P - R * D");
      return statements;
    }
    case OptimizerKind::kLion: {
      const std::string step = absl::StrCat("E = ", b1, " * S0 + ", a1, " * G");
      return {step, "U = E > 0 ? 1 : (E < 0 ? -1 : E)",
              absl::StrCat("N0 = ", b2, " * S0 + ", a2, " * G"),
              absl::StrCat("NP = P - R * (U + ", Number(decay), " * P)")};
    }
    case OptimizerKind::kLamb: {
      const std::string at = absl::StrCat("[", Indices(rank), "]");
      std::vector<std::string> statements = averages;
      statements.insert(
          statements.end(),
          {absl::StrCat("U = D + ", Number(decay), " * P"), "PP = P * P", "UU = U * U",
           absl::StrCat("SP[] = +(PP", at, ")"), absl::StrCat("SU[] = +(UU", at, ")"),
           "T = SP > 0 && SU > 0 ? sqrt(SP / SU) : 1", "NP = P - R * T * U"});
      return statements;
    }
  }
  return {};
}

}  // namespace

absl::string_view Name(OptimizerKind kind) { return RowOf(kind).name; }

absl::StatusOr<OptimizerKind> OptimizerNamed(absl::string_view name) {
  std::vector<absl::string_view> names;
  for (const Row& row : kRows) {
    if (row.name == name) return row.kind;
    names.push_back(row.name);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no optimizer '", name, "'; the optimizers are ", absl::StrJoin(names, ", ")));
}

absl::Status Optimizer::Check() const {
  const auto within = [](absl::string_view what, double value, double end) {
    if (value >= 0 && value < end) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(what, " is ", value, ", not in [0, ", end, ")"));
  };
  TARTAN_RETURN_IF_ERROR(within("the weight decay", decay, INFINITY));
  TARTAN_RETURN_IF_ERROR(within("the momentum", momentum, 1));
  TARTAN_RETURN_IF_ERROR(within("beta1", beta1, 1));
  TARTAN_RETURN_IF_ERROR(within("beta2", beta2, 1));
  TARTAN_RETURN_IF_ERROR(within("the smoothing", smoothing, 1));
  return within("epsilon", epsilon, INFINITY);
}

std::vector<float> StepScalars(const Optimizer& optimizer, double rate, int64_t step,
                               double gradient_factor) {
  const auto correction = [&](double beta) {
    return static_cast<float>(1 / (1 - std::pow(beta, static_cast<double>(step))));
  };
  return {static_cast<float>(rate), correction(optimizer.beta1), correction(optimizer.beta2),
          static_cast<float>(gradient_factor)};
}

std::vector<std::string> SlotNames(const Optimizer& optimizer) {
  const int slots = RowOf(optimizer.kind).slots;
  if (slots == 0) return {};
  if (slots == 2) return {"momentum", "square"};
  const bool is_square =
      optimizer.kind == OptimizerKind::kRmsprop || optimizer.kind == OptimizerKind::kAdagrad;
  return {is_square ? "square" : "momentum"};
}

absl::StatusOr<Updated> Update(const Optimizer& optimizer, const ParameterGroup& group,
                               const api::Tensor& parameter, const api::Tensor& gradient,
                               absl::Span<const api::Tensor> slots, const api::Tensor& numbers,
                               const api::Tensor& scale, const api::Tensor& enabled,
                               absl::string_view name) {
  const double decay = optimizer.decay * group.decay_factor;
  std::vector<api::Tensor> inputs = {parameter, gradient, numbers};
  std::vector<std::string> names = {"P", "G0", "H"};
  std::vector<std::string> statements = {"R0[] = +(H[0])",
                                         absl::StrCat("R = R0 * ", Number(group.rate_factor)),
                                         "C1[] = +(H[1])", "C2[] = +(H[2])", "F[] = +(H[3])"};
  std::string factor = "F";
  if (scale.defined()) {
    inputs.push_back(scale);
    names.push_back("SCALE");
    factor = "F * SCALE";
  }
  const bool is_added = decay != 0 && !IsDecoupled(optimizer.kind);
  statements.push_back(
      absl::StrCat("G = G0 * (", factor, ")",
                   is_added ? absl::StrCat(" + ", Number(decay), " * P") : std::string()));
  for (std::string& statement : Formula(optimizer, decay, parameter.rank())) {
    statements.push_back(std::move(statement));
  }
  std::vector<std::string> outputs = {"NP"};
  std::vector<std::string> old = {"P"};
  for (size_t s = 0; s < slots.size(); ++s) {
    inputs.push_back(slots[s]);
    names.push_back(absl::StrCat("S", s));
    outputs.push_back(absl::StrCat("N", s));
    old.push_back(names.back());
  }
  if (enabled.defined()) {
    inputs.push_back(enabled);
    names.push_back("OK");
    for (size_t o = 0; o < outputs.size(); ++o) {
      statements.push_back(absl::StrCat("K", o, " = OK ? ", outputs[o], " : ", old[o]));
      outputs[o] = absl::StrCat("K", o);
    }
  }
  TARTAN_ASSIGN_OR_RETURN(
      const api::Function function,
      api::Function::FromTile(absl::StrCat("function (", absl::StrJoin(names, ", "), ") -> (",
                                           absl::StrJoin(outputs, ", "), ") {\n",
                                           absl::StrJoin(statements, ";\n"), ";\n}"),
                              Name(optimizer.kind)));
  TARTAN_ASSIGN_OR_RETURN(std::vector<api::Tensor> results, function.Apply(inputs, name));
  Updated updated;
  updated.parameter = results[0];
  updated.slots.assign(results.begin() + 1, results.end());
  return updated;
}

}  // namespace tartan::train
