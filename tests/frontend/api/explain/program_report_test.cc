// SPDX-License-Identifier: Apache-2.0
// Tests that a report describes the running program without compiling it.
#include "frontend/api/explain/program_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontend/api/explain/report_page.h"
#include "frontend/api/function.h"
#include "tile/compiler/compile_options.h"

namespace tartan::api::program_report_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class ProgramReportTest : public testing::TestWithParam<compiler::Tier> {
 protected:
  void SetUp() override {
    static const auto* const device = new absl::StatusOr<std::shared_ptr<Device>>(Device::Open());
    if (!device->ok()) GTEST_SKIP() << device->status();
    device_ = (**device)->WithTier(GetParam());
  }

  // Defines Y from X and the weight W, and the next value of W.
  void MakeStep() {
    x_ = Tensor::Placeholder("x", {DataType::kFloat32, {24, 40}});
    w_ = Tensor::Placeholder("w", {DataType::kFloat32, {40, 40}});
    const auto function = Function::FromTile(
        "function (X[N, K], W[K, M]) -> (Y, V) { P[i, j : N, M] = +(X[i, k] * W[k, j]); "
        "Y = tanh(P) + 1; V = W * 0.5; }");
    ASSERT_TRUE(function.ok()) << function.status();
    const auto results = function->Apply({x_, w_});
    ASSERT_TRUE(results.ok()) << results.status();
    y_ = (*results)[0];
    next_ = (*results)[1];
  }

  std::shared_ptr<Device> device_;
  Tensor x_, w_, y_, next_;
};

TEST_P(ProgramReportTest, TellsOfWhatRuns) {
  MakeStep();
  const auto report = Explain(*device_, {{x_}, {{w_, next_}}, {y_}, "step"});
  ASSERT_TRUE(report.ok()) << report.status();
  const auto program = DeviceProgram::Create(device_, {{x_}, {{w_, next_}}, {y_}, "step"});
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(report->name, "step");
  EXPECT_EQ(report->tier, GetParam() == compiler::Tier::kReady ? "ready" : "exact");
  EXPECT_THAT(report->launches, SizeIs((*program)->kernels()));
  const ProgramMemory memory = (*program)->memory();
  EXPECT_EQ(report->states, 40 * 40 * 4);
  EXPECT_EQ(report->states, memory.states);
  EXPECT_EQ(report->constants, memory.constants);
  EXPECT_EQ(report->scratch, memory.scratch);
  EXPECT_EQ(report->peak, memory.peak);
  std::vector<std::string> operations;
  for (const KernelReport& kernel : report->kernels) {
    operations.insert(operations.end(), kernel.operations.begin(), kernel.operations.end());
    EXPECT_THAT(kernel.source, HasSubstr("void " + kernel.name + "("));
    EXPECT_THAT(kernel.plans, Not(IsEmpty()));
  }
  EXPECT_THAT(operations, Contains("sum of mul; tanh, add"));
  EXPECT_THAT(operations, Contains("mul"));
}

TEST_P(ProgramReportTest, TimesAreThoseOfItsLaunches) {
  MakeStep();
  auto report = Explain(*device_, {{x_}, {}, {y_}, "step"});
  // The weight is declared neither as an input nor as a state.
  EXPECT_FALSE(report.ok());
  report = Explain(*device_, {{x_, w_}, {}, {y_}, "step"});
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_THAT(report->kernels, SizeIs(1));
  const std::string name = report->kernels[0].name;
  EXPECT_LT(report->kernels[0].measured_us, 0);
  EXPECT_EQ(SetTimes({{name, "", 0.25}}, &*report), absl::OkStatus());
  EXPECT_EQ(report->kernels[0].measured_us, 250);
  EXPECT_THAT(KernelsHtml(*report), HasSubstr(">250.0 µs</td>"));
  EXPECT_EQ(SetTimes({{"other", "", 1}}, &*report).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(SetTimes({}, &*report).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(report->kernels[0].measured_us, 250);
}

TEST_P(ProgramReportTest, NamesOnThePageAreText) {
  const Tensor odd = Tensor::Placeholder("<b>", {DataType::kFloat32, {8}});
  const auto function = Function::FromTile("function (X) -> (Y) { Y = exp(X); }");
  const auto results = function->Apply({odd});
  ASSERT_TRUE(results.ok()) << results.status();
  const auto report = Explain(*device_, {{odd}, {}, *results, "<i>step"});
  ASSERT_TRUE(report.ok()) << report.status();
  const std::string html = ReportsHtml({*report});
  EXPECT_THAT(html, HasSubstr("<h2>&lt;i&gt;step</h2>"));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
}

INSTANTIATE_TEST_SUITE_P(Tiers, ProgramReportTest,
                         testing::Values(compiler::Tier::kReady, compiler::Tier::kExact),
                         [](const auto& info) {
                           return info.param == compiler::Tier::kReady ? "Ready" : "Exact";
                         });

}  // namespace
}  // namespace tartan::api::program_report_test
