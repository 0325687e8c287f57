// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/tune_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend_opencl/dialect/opencl_dialect.h"
#include "tests/tile/evaluator/device.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/plan/select/select_plan.h"
#include "tile/plan/store/tuning_database.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::evaluator {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TestProgram Product() {
  return {"product",
          "function (A[M, K], B[K, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }",
          {{DataType::kFloat32, {96, 128}}, {DataType::kFloat32, {128, 160}}}};
}

class TuneKernelTest : public testing::Test {
 protected:
  void SetUp() override {
    if (TestDevice() == nullptr) GTEST_SKIP() << "no OpenCL device";
    Take(Product());
  }

  // Reads the kernel of a program that has only one.
  void Take(const TestProgram& program) {
    compiler::CompileOptions options;
    compiler::CompileHooks hooks;
    hooks.planner = [this](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
      flat_ = flat;
      is_constant_ = launch.is_constant;
      return plan::PlanKernel(flat, settings(), launch);
    };
    const auto compiled = compiler::Compile(BindTestProgram(program), options, hooks);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
  }

  HardwareSettings settings() const { return TestSettings(); }
  plan::PlannedKernel Choice() const { return plan::PlanKernel(flat_, settings(), {is_constant_}); }
  plan::PlannedKernel Slow() const {
    const poly::FlatContraction merged = poly::MergeIndices(flat_);
    return {merged, plan::ScalarPlan(merged, 1), {}, 0, ""};
  }
  absl::StatusOr<TunedKernel> Measure(std::vector<plan::PlannedKernel> plans) const {
    TuneOptions options;
    options.rounds = 9;
    return MeasurePlans(flat_, is_constant_, std::move(plans), TestDevice(),
                        opencl::DialectOf(TestSettings()), options);
  }

  poly::FlatContraction flat_;
  std::vector<bool> is_constant_;
};

TEST_F(TuneKernelTest, TriesThePlannersCandidates) {
  TuneOptions options;
  options.candidates = 3;
  options.rounds = 3;
  const auto tuned =
      TuneKernel(flat_, {is_constant_}, TestDevice(), opencl::DialectOf(TestSettings()), options);
  ASSERT_TRUE(tuned.ok()) << tuned.status();
  EXPECT_EQ(tuned->tried, 3);
  EXPECT_THAT(tuned->problems, IsEmpty());
  EXPECT_GT(tuned->before_ms, 0);
  EXPECT_LE(tuned->after_ms, tuned->before_ms);
}

// Tuning must keep packed inputs: if their memory were reused, the second run would read wrong
// values.
TEST_F(TuneKernelTest, KeepsInputsThatAreCopiedForTheNextRun) {
  Take({"product",
        "function (A[M, K], B[N, K]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[j, k]); }",
        {{DataType::kFloat32, {96, 128}}, {DataType::kFloat32, {160, 128}}}});
  std::vector<plan::PlannedKernel> plans = {Slow()};
  for (const plan::PlannedKernel& planned :
       plan::PlanCandidates(flat_, settings(), {is_constant_}, 24)) {
    if (!planned.packed.empty() && plans.size() < 3) plans.push_back(planned);
  }
  if (settings().threads > 1) GTEST_SKIP() << "plans of GPUs pack no operands of a product";
  ASSERT_GT(plans.size(), 1);
  const auto tuned = Measure(plans);
  ASSERT_TRUE(tuned.ok()) << tuned.status();
  EXPECT_THAT(tuned->problems, IsEmpty());
}

TEST_F(TuneKernelTest, PrefersAPlanThatIsClearlyFaster) {
  const auto tuned = Measure({Slow(), Choice()});
  ASSERT_TRUE(tuned.ok()) << tuned.status();
  ASSERT_TRUE(tuned->winner.has_value());
  EXPECT_EQ(tuned->winner->plan, Choice().plan);
  EXPECT_LT(tuned->after_ms, tuned->before_ms);
}

TEST_F(TuneKernelTest, KeepsTheChoiceWhereNothingIsFaster) {
  const auto tuned = Measure({Choice(), Slow()});
  ASSERT_TRUE(tuned.ok()) << tuned.status();
  EXPECT_EQ(tuned->tried, 2);
  EXPECT_FALSE(tuned->winner.has_value());
  EXPECT_EQ(tuned->after_ms, tuned->before_ms);
}

TEST_F(TuneKernelTest, ReportsAPlanThatComputesSomethingElse) {
  plan::PlannedKernel wrong = Slow();
  wrong.flat.aggregation = Aggregation::kMax;
  const auto tuned = Measure({Choice(), wrong});
  ASSERT_TRUE(tuned.ok()) << tuned.status();
  EXPECT_EQ(tuned->tried, 1);
  EXPECT_FALSE(tuned->winner.has_value());
  ASSERT_THAT(tuned->problems, SizeIs(1));
  EXPECT_THAT(tuned->problems[0], HasSubstr("results differ"));
}

TEST_F(TuneKernelTest, ProgramsCompiledLaterUseWhatIsKept) {
  const std::vector<HostTensor> inputs = RandomInputs(Product(), 1);
  ProgramCache cache(TestDevice(), opencl::DialectOf);
  std::string plans;
  compiler::CompileOptions options;
  compiler::CompileHooks hooks;
  hooks.dump = [&](absl::string_view stage, absl::string_view text) {
    if (stage == "plan") plans = std::string(text);
  };
  const auto run = [&] {
    const auto compiled = cache.Get(ToProto(Product()), options, hooks);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return (*(*LoadedProgram::Load(*compiled, {}))->Run(inputs))[0];
  };
  const HostTensor before = run();
  EXPECT_EQ(plans.find("tuned"), std::string::npos) << plans;
  auto database = std::make_shared<plan::TuningDatabase>();
  ASSERT_TRUE(database->Keep(flat_, settings(), is_constant_, Slow(), 1, 2));
  options.tuned = database;
  const HostTensor after = run();
  EXPECT_THAT(plans, HasSubstr("tuned: 1.0000 ms"));
  EXPECT_THAT(plans, HasSubstr(plan::ToString(Slow().plan, Slow().flat)));
  EXPECT_EQ(FirstDifference(after, before, 1e-5), "");
}

}  // namespace
}  // namespace tartan::evaluator
