// SPDX-License-Identifier: Apache-2.0
// Tests that comparisons use the plans that launches have.
#include "tile/fuse/judge.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tile/fuse/matmul.h"
#include "tests/tile/testing.h"
#include "tile/plan/select/select_plan.h"

namespace tartan::fuse::judge_test {
namespace {

poly::FlatContraction Matmul(const std::string& name) {
  poly::FlatContraction flat = MatmulKernel(name, {64, 256, 256});
  flat.comments = {"computes " + name};
  return flat;
}

const std::vector<bool> kNoConstant = {false, false};
const std::vector<bool> kWeights = {false, true};

TEST(Judge, PredictsTheTimeOfThePlanThatALaunchHas) {
  const HardwareSettings settings = Cpu();
  Judge judge({.settings = settings});
  for (const std::vector<bool>& constants : {kNoConstant, kWeights}) {
    const double us = judge.KernelUs(Matmul("P"), constants);
    EXPECT_EQ(judge.PlanLaunch(Matmul("P"), {constants}).kernel.predicted_us, us);
    EXPECT_EQ(plan::PlanKernel(Matmul("P"), settings, {constants}).predicted_us, us);
  }
}

TEST(Judge, KnowsThatConstantsArePackedAtLoad) {
  const HardwareSettings settings = Cpu();
  Judge judge({.settings = settings});
  EXPECT_LE(judge.KernelUs(Matmul("P"), kWeights), judge.KernelUs(Matmul("P"), kNoConstant));
}

// A comparison plans a kernel before its launch does. The launch has its own name and comments.
TEST(Judge, GivesALaunchItsOwnNames) {
  const HardwareSettings settings = Cpu();
  Judge judge({.settings = settings});
  judge.KernelUs(Matmul("P"), kWeights);
  const Planned planned = judge.PlanLaunch(Matmul("Q"), {kWeights});
  const Planned again = judge.PlanLaunch(Matmul("R"), {kWeights});
  EXPECT_EQ(planned.form, again.form);
  EXPECT_EQ(planned.kernel.flat.name.substr(0, 1), "Q");
  EXPECT_EQ(planned.kernel.flat.comments, std::vector<std::string>{"computes Q"});
}

TEST(Judge, AsksThePlannerOfTheHooksForLaunchesOnly) {
  const HardwareSettings settings = Cpu();
  int asked = 0;
  Judge judge(
      {.settings = settings,
       .planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
         ++asked;
         return plan::PlanKernel(flat, settings, launch);
       }});
  judge.KernelUs(Matmul("P"), kWeights);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(judge.PlanLaunch(Matmul("P"), {kWeights}).form, -1);
  EXPECT_EQ(asked, 1);
}

TEST(Judge, PlansEachFormAheadOnce) {
  const HardwareSettings settings = TestGpu(256, 132);
  Judge judge({.settings = settings});
  const poly::FlatContraction first = Matmul("P");
  const poly::FlatContraction second = MatmulKernel("Q", {64, 256, 256}, 7, 8, 9);
  const LaunchRequest requests[] = {{&first, {kNoConstant}}, {&second, {kNoConstant}}};
  EXPECT_EQ(judge.PlanAhead(requests, /*are_launches=*/false).size(), 1u);
  EXPECT_TRUE(judge.PlanAhead(requests).empty());
  const Planned planned = judge.PlanLaunch(second, {kNoConstant});
  EXPECT_EQ(planned.kernel.flat.name.substr(0, 1), "Q");
  EXPECT_EQ(planned.kernel.predicted_us,
            plan::PlanKernel(second, settings, {kNoConstant}).predicted_us);
}

TEST(Judge, CollectsDecisionsOnRequestOnly) {
  const HardwareSettings settings = Cpu();
  Judge silent({.settings = settings});
  silent.Log({.producer = "P"});
  EXPECT_EQ(silent.log(), nullptr);
  Judge judge({.settings = settings, .records = true});
  judge.Log({.producer = "P"});
  ASSERT_NE(judge.log(), nullptr);
  EXPECT_EQ(judge.log()->decisions().size(), 1u);
}

}  // namespace
}  // namespace tartan::fuse::judge_test
