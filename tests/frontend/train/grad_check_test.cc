// SPDX-License-Identifier: Apache-2.0
// Tests that the gradient check accepts correct gradients, finds wrong ones and recognises points
// without a derivative.
#include "frontend/train/grad_check/grad_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "frontend/api/function.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::grad_check_test {
namespace {

using api::Tensor;
using onnx::NodeText;
using onnx::ValueText;
using testing::HasSubstr;
using testing::SizeIs;

class GradCheckTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    if (!device_->info().settings.has_float64) GTEST_SKIP() << "the device has no float64";
  }

  // Checks the gradient of the outputs of `text`, a function of the parameter P.
  ParameterCheck Check(const std::string& text, const HostTensor& value) const {
    const GivenTensor parameter = {"p", Tensor::Placeholder("p", value.shape()), value};
    const auto output = api::Apply(text, {parameter.placeholder});
    EXPECT_TRUE(output.ok()) << output.status();
    if (!output.ok()) return {};
    const auto result = CheckGradients(device_, {*output}, {parameter}, {}, {});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->parameters[0] : ParameterCheck();
  }

  absl::StatusOr<GradCheckResult> CheckModel(const std::string& graph,
                                             const ParameterRules& rules = {}) const {
    const auto model = LoadToTrain(graph);
    if (!model.ok()) return model.status();
    return CheckModelGradients(
        **model, device_, {{"x", api::HostValue(Floats({2, 2}, {0.5, -1, 2, 0.25}))}}, rules, {});
  }
};

const HostTensor& Some() {
  static const auto* const value = new HostTensor(Floats({4}, {0.3F, -0.7F, 1.2F, 2.5F}));
  return *value;
}

std::string Graph(const std::string& op) {
  return absl::StrCat("graph { name: 'g' ", ValueText("input", "x", 1, "2 2"),
                      " output { name: 'y' }", InitializerText("w", {2, 2}, {1, -2, 0.5, 3}),
                      InitializerText("b", {2}, {0.1F, 7}), NodeText("MatMul", {"x", "w"}, {"h"}),
                      NodeText("Add", {"h", "b"}, {"a"}), NodeText(op, {"a"}, {"y"}), "}");
}

TEST_F(GradCheckTest, RightGradientsAreOk) {
  const ParameterCheck check = Check("function (P) -> (Y) { Y = exp(P) * P; }", Some());
  EXPECT_EQ(check.status, GradCheckStatus::kOk);
  EXPECT_EQ(check.checked, 4);
  EXPECT_EQ(check.kinks, 0);
  EXPECT_LT(check.max_rel_error, 1e-8);
}

TEST_F(GradCheckTest, ACustomGradientThatIsWrongIsFound) {
  const auto with_factor = [](absl::string_view factor) {
    return absl::StrCat(
        "function (P) -> (Y) { S = P * P; Y = custom_gradient(S, rule, P); }"
        "function rule (X, Y, DY) -> (DX) { DX = ",
        factor, " * X * DY; }");
  };
  EXPECT_EQ(Check(with_factor("2.0"), Some()).status, GradCheckStatus::kOk);
  const ParameterCheck check = Check(with_factor("2.002"), Some());
  EXPECT_EQ(check.status, GradCheckStatus::kDiffers);
  EXPECT_NEAR(check.max_rel_error, 1e-3, 1e-4);
}

TEST_F(GradCheckTest, ACornerAtThePointIsAKinkAndNoError) {
  const ParameterCheck check = Check("function (P) -> (Y) { Y = max(P, 0); }", Floats({2}, {0, 0}));
  EXPECT_EQ(check.status, GradCheckStatus::kKink);
  EXPECT_EQ(check.checked, 0);
}

TEST_F(GradCheckTest, ElementsBesideACornerAreChecked) {
  const ParameterCheck check =
      Check("function (P) -> (Y) { Y = max(P, 0); }", Floats({3}, {0, 1e-5F, -2}));
  EXPECT_EQ(check.status, GradCheckStatus::kOk);
  EXPECT_EQ(check.checked, 2);
  EXPECT_EQ(check.kinks, 2) << "an element, and the direction";
}

// Y[i] = Z + max(Z, 0) / 50 with Z = X[i] + P. Hundreds of X are so small that every
// finite-difference step crosses some corners.
TEST_F(GradCheckTest, ManyCornersNearbyAreNoError) {
  constexpr int64_t kCount = 200'000;
  std::vector<float> values;
  for (int64_t i = 0; i < kCount; ++i) {
    const double even = static_cast<double>(i * 7919 % kCount) / (kCount / 2) - 1;
    values.push_back(static_cast<float>(even * even * even));
  }
  const HostTensor value = Floats({1}, {1});
  const GivenTensor parameter = {"p", Tensor::Placeholder("p", value.shape()), value};
  const Tensor shifts = Tensor::Constant(Floats({kCount}, values), "x");
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const auto output = api::Apply(
        "function (P, X) -> (Y) { Q = P - 1.0; Z[i : 200000] = +(Q[0 * i] + X[i]); "
        "Y = Z + 0.02 * max(Z, 0); }",
        {parameter.placeholder, shifts});
    ASSERT_TRUE(output.ok()) << output.status();
    GradCheckOptions options;
    options.seed = seed;
    const auto result = CheckGradients(device_, {*output}, {parameter}, {}, options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_NE(result->parameters[0].status, GradCheckStatus::kDiffers)
        << result->parameters[0].max_rel_error;
  }
}

TEST_F(GradCheckTest, FloatsOfSixteenBitsAreCheckedInFloat64) {
  const HostTensor half = [] {
    std::vector<uint8_t> bytes(4);
    StoreElement(DataType::kFloat16, 0.5, 0, bytes.data());
    StoreElement(DataType::kFloat16, -1.25, 1, bytes.data());
    return HostTensor({DataType::kFloat16, {2}}, bytes);
  }();
  const ParameterCheck check = Check("function (P) -> (Y) { Y = tanh(P); }", half);
  EXPECT_EQ(check.status, GradCheckStatus::kOk);
  EXPECT_LT(check.max_rel_error, 1e-8);
}

TEST_F(GradCheckTest, AParameterWithoutInfluenceIsOk) {
  const ParameterCheck check = Check("function (P) -> (Y) { Y = P - P + 1.0; }", Some());
  EXPECT_EQ(check.status, GradCheckStatus::kOk);
}

TEST_F(GradCheckTest, ZerosAloneDoNotPass) {
  const auto check = [](GradCheckStatus status, double greatest) {
    ParameterCheck made;
    made.status = status;
    made.greatest = greatest;
    return made;
  };
  GradCheckResult result;
  result.parameters = {check(GradCheckStatus::kOk, 0), check(GradCheckStatus::kKink, 0)};
  EXPECT_FALSE(result.passed());
  result.parameters.push_back(check(GradCheckStatus::kOk, 1e-9));
  EXPECT_TRUE(result.passed());
  result.parameters.push_back(check(GradCheckStatus::kDiffers, 1));
  EXPECT_FALSE(result.passed());
}

TEST_F(GradCheckTest, AllParametersOfAModelAreChecked) {
  const auto result = CheckModel(Graph("Sigmoid"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->parameters, SizeIs(2));
  EXPECT_TRUE(result->passed());
}

TEST_F(GradCheckTest, ParametersWithoutAGradientAreToldWithTheOperator) {
  const auto result = CheckModel(Graph("Round"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->passed());
  ASSERT_THAT(result->parameters, SizeIs(2));
  for (const ParameterCheck& check : result->parameters) {
    EXPECT_EQ(check.status, GradCheckStatus::kNone);
    ASSERT_THAT(check.ends, SizeIs(1));
    EXPECT_EQ(check.ends[0].op, "Round");
    EXPECT_EQ(check.ends[0].node, "y");
  }
}

TEST_F(GradCheckTest, FrozenParametersAreLeftOut) {
  ParameterRules rules;
  rules.frozen = "w";
  const auto result = CheckModel(Graph("Tanh"), rules);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_THAT(result->parameters, SizeIs(1));
  EXPECT_EQ(result->parameters[0].name, "b");
}

TEST_F(GradCheckTest, AModelWithoutFloatsToCheckIsAnError) {
  const auto result =
      CheckModel(absl::StrCat("graph { name: 'g' ", ValueText("input", "x", 1, "2 2"),
                              " output { name: 'y' } ", NodeText("Relu", {"x"}, {"y"}), "}"));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("no float initialisers"));
}

}  // namespace
}  // namespace tartan::train::grad_check_test
