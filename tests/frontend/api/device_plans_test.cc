// SPDX-License-Identifier: Apache-2.0
// Tests that another process finds the plans that a device has stored.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "frontend/api/device.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/plan/select/select_plan.h"
#include "tile/plan/store/tuning_database.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::api {
namespace {

// Kernels of `count` different sizes.
std::vector<poly::FlatContraction> Kernels(int count) {
  std::vector<poly::FlatContraction> kernels;
  compiler::CompileOptions options;
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    kernels.push_back(flat);
    return plan::PlanKernel(flat, options.settings, launch);
  };
  for (int i = 0; i < count; ++i) {
    const TestProgram program = {"sum",
                                 "function (A[M, N]) -> (S) { S[i : M] = +(A[i, j]); }",
                                 {{DataType::kFloat32, {16, 10 + i}}}};
    EXPECT_TRUE(compiler::Compile(BindTestProgram(program), options, hooks).ok());
  }
  return kernels;
}

bool Keep(const poly::FlatContraction& flat, const HardwareSettings& settings,
          plan::TuningDatabase* database) {
  const poly::FlatContraction merged = poly::MergeIndices(flat);
  return database->Keep(flat, settings, {false}, {merged, plan::ScalarPlan(merged, 1), {}, 0, ""},
                        1, 2);
}

class DevicePlansTest : public testing::Test {
 protected:
  DevicePlansTest() { setenv("TARTAN_CACHE_DIR", directory_.path().c_str(), 1); }

  size_t Kept(Device& device) {
    size_t kept = 0;
    EXPECT_TRUE(
        device.UpdatePlans([&](plan::TuningDatabase* database) { kept = database->size(); }).ok());
    return kept;
  }

  TemporaryDirectory directory_;
};

TEST_F(DevicePlansTest, AreThereForTheNext) {
  auto device = Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  const auto kernels = Kernels(3);
  EXPECT_EQ(Kept(**device), 0u);
  // simulates another process, as it shares no state with the first
  const auto other = Device::Open();
  for (Device* one : {device->get(), other->get(), device->get()}) {
    const size_t next = Kept(*one);
    ASSERT_TRUE(one->UpdatePlans([&](plan::TuningDatabase* database) {
                     EXPECT_TRUE(Keep(kernels[next], one->info().settings, database));
                   })
                    .ok());
  }
  EXPECT_EQ(Kept(**Device::Open()), 3u);
}

TEST_F(DevicePlansTest, AreNotKeptWithoutADiskCache) {
  DeviceOptions options;
  options.use_disk_cache = false;
  const auto device = Device::Open("", options);
  if (!device.ok()) GTEST_SKIP() << device.status();
  const auto kernels = Kernels(1);
  ASSERT_TRUE((*device)
                  ->UpdatePlans([&](plan::TuningDatabase* database) {
                    EXPECT_TRUE(Keep(kernels[0], (*device)->info().settings, database));
                  })
                  .ok());
  EXPECT_EQ(Kept(**device), 1u);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

}  // namespace
}  // namespace tartan::api
