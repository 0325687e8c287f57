// SPDX-License-Identifier: Apache-2.0
// Compares successive optimizer updates with their formulas in float64.
#include "frontend/train/graph/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "frontend/api/composer.h"

namespace tartan::train::optimizer_test {
namespace {

using testing::HasSubstr;

constexpr double kRate = 0.05;

struct Numbers {
  std::vector<double> p, s0, s1;
};

// The update as torch.optim defines it; LAMB follows its paper.
void Reference(const Optimizer& o, const std::vector<double>& gradient, int64_t step, Numbers* n) {
  const double c1 = 1 - std::pow(o.beta1, static_cast<double>(step));
  const double c2 = 1 - std::pow(o.beta2, static_cast<double>(step));
  std::vector<double> direction(gradient.size());
  double square_p = 0;
  double square_u = 0;
  for (size_t i = 0; i < gradient.size(); ++i) {
    double& p = n->p[i];
    double& s0 = n->s0[i];
    double& s1 = n->s1[i];
    double g = gradient[i];
    const bool is_decoupled = o.kind == OptimizerKind::kAdamW || o.kind == OptimizerKind::kLion ||
                              o.kind == OptimizerKind::kLamb;
    if (!is_decoupled) g += o.decay * p;
    if (o.kind == OptimizerKind::kAdamW || o.kind == OptimizerKind::kLion) p *= 1 - kRate * o.decay;
    switch (o.kind) {
      case OptimizerKind::kSgd:
        p -= kRate * g;
        break;
      case OptimizerKind::kMomentum:
      case OptimizerKind::kNesterov:
        s0 = o.momentum * s0 + g;
        p -= kRate * (o.kind == OptimizerKind::kMomentum ? s0 : g + o.momentum * s0);
        break;
      case OptimizerKind::kRmsprop:
        s0 = o.smoothing * s0 + (1 - o.smoothing) * g * g;
        p -= kRate * g / (std::sqrt(s0) + o.epsilon);
        break;
      case OptimizerKind::kAdagrad:
        s0 += g * g;
        p -= kRate * g / (std::sqrt(s0) + o.epsilon);
        break;
      case OptimizerKind::kLion: {
        const double u = o.beta1 * s0 + (1 - o.beta1) * g;
        p -= kRate * (u > 0 ? 1 : u < 0 ? -1 : 0);
        s0 = o.beta2 * s0 + (1 - o.beta2) * g;
        break;
      }
      default:
        s0 = o.beta1 * s0 + (1 - o.beta1) * g;
        s1 = o.beta2 * s1 + (1 - o.beta2) * g * g;
        direction[i] = s0 / c1 / (std::sqrt(s1 / c2) + o.epsilon);
        if (o.kind == OptimizerKind::kLamb) {
          direction[i] += o.decay * p;
          square_p += p * p;
          square_u += direction[i] * direction[i];
        } else {
          p -= kRate * direction[i];
        }
    }
  }
  if (o.kind != OptimizerKind::kLamb) return;
  const double trust = square_p > 0 && square_u > 0 ? std::sqrt(square_p / square_u) : 1;
  for (size_t i = 0; i < gradient.size(); ++i) n->p[i] -= kRate * trust * direction[i];
}

HostTensor Floats(const std::vector<double>& values) {
  return HostTensor::FromVector({DataType::kFloat32, {static_cast<int64_t>(values.size())}},
                                std::vector<float>(values.begin(), values.end()));
}

// The results of one update, computed by the naive evaluator.
std::vector<std::vector<double>> Step(const Optimizer& optimizer, const Numbers& n,
                                      const std::vector<double>& gradient, int64_t step,
                                      bool is_enabled = true) {
  const auto count = static_cast<int64_t>(gradient.size());
  const TensorShape shape{DataType::kFloat32, {count}};
  std::vector<api::Tensor> placeholders;
  std::vector<HostTensor> values;
  const auto add = [&](const TensorShape& of, HostTensor value) {
    placeholders.push_back(api::Tensor::Placeholder("x", of));
    values.push_back(std::move(value));
    return placeholders.back();
  };
  const api::Tensor p = add(shape, Floats(n.p));
  const api::Tensor g = add(shape, Floats(gradient));
  const std::vector<float> numbers = StepScalars(optimizer, kRate, step, 1);
  const api::Tensor h = add({DataType::kFloat32, {kStepScalarCount}},
                            Floats(std::vector<double>(numbers.begin(), numbers.end())));
  std::vector<api::Tensor> slots;
  if (!SlotNames(optimizer).empty()) slots.push_back(add(shape, Floats(n.s0)));
  if (SlotNames(optimizer).size() > 1) slots.push_back(add(shape, Floats(n.s1)));
  const api::Tensor enabled =
      add({DataType::kBool, {}},
          HostTensor::FromVector({DataType::kBool, {}}, std::vector<uint8_t>{is_enabled}));
  const auto updated = Update(optimizer, {}, p, g, slots, h, {}, enabled, "p");
  EXPECT_TRUE(updated.ok()) << updated.status();
  std::vector<api::Tensor> outputs = {updated->parameter};
  outputs.insert(outputs.end(), updated->slots.begin(), updated->slots.end());
  const auto results = api::EvaluateReference(placeholders, values, outputs, 1 << 20);
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<std::vector<double>> all;
  for (const HostTensor& result : *results) all.push_back(result.ToDoubles());
  return all;
}

class OptimizerTest : public testing::TestWithParam<std::pair<OptimizerKind, double>> {};

TEST_P(OptimizerTest, FollowsItsFormulaForSeveralSteps) {
  Optimizer optimizer;
  optimizer.kind = GetParam().first;
  optimizer.decay = GetParam().second;
  if (optimizer.kind == OptimizerKind::kLion) optimizer.beta2 = 0.99;
  Numbers reference = {{0.5, -1.25, 0, 3}, {0, 0, 0, 0}, {0, 0, 0, 0}};
  Numbers ours = reference;
  for (int64_t step = 1; step <= 5; ++step) {
    const auto s = static_cast<double>(step);
    const std::vector<double> gradient = {0.5 * s, -1 / s, 0, std::sin(s)};
    Reference(optimizer, gradient, step, &reference);
    const auto made = Step(optimizer, ours, gradient, step);
    ours.p = made[0];
    if (made.size() > 1) ours.s0 = made[1];
    if (made.size() > 2) ours.s1 = made[2];
    for (size_t i = 0; i < ours.p.size(); ++i) {
      EXPECT_NEAR(ours.p[i], reference.p[i], 2e-6 * (1 + std::abs(reference.p[i])))
          << "step " << step << ", element " << i;
      EXPECT_NEAR(ours.s0[i], reference.s0[i], 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OptimizerTest,
    testing::Values(std::pair(OptimizerKind::kSgd, 0.0), std::pair(OptimizerKind::kSgd, 0.1),
                    std::pair(OptimizerKind::kMomentum, 0.1),
                    std::pair(OptimizerKind::kNesterov, 0.1),
                    std::pair(OptimizerKind::kRmsprop, 0.1),
                    std::pair(OptimizerKind::kAdagrad, 0.1), std::pair(OptimizerKind::kAdam, 0.1),
                    std::pair(OptimizerKind::kAdamW, 0.0), std::pair(OptimizerKind::kAdamW, 0.1),
                    std::pair(OptimizerKind::kLion, 0.1), std::pair(OptimizerKind::kLamb, 0.1)),
    [](const auto& info) {
      return std::string(Name(info.param.first)) + (info.param.second > 0 ? "_decays" : "");
    });

TEST(Optimizer, KeepsEverythingWhereItIsDisabled) {
  const Numbers n = {{1, 2}, {3, 4}, {5, 6}};
  const auto made = Step(Optimizer(), n, {NAN, 1}, 1, /*is_enabled=*/false);
  EXPECT_EQ(made, (std::vector<std::vector<double>>{n.p, n.s0, n.s1}));
}

TEST(Optimizer, SaysWhatIsOutOfRange) {
  EXPECT_THAT(OptimizerNamed("adamx").status().message(), HasSubstr("adamw"));
  Optimizer optimizer;
  optimizer.beta2 = 1;
  EXPECT_THAT(optimizer.Check().message(), HasSubstr("beta2 is 1, not in [0, 1)"));
  optimizer.beta2 = NAN;
  EXPECT_FALSE(optimizer.Check().ok());
}

}  // namespace
}  // namespace tartan::train::optimizer_test
