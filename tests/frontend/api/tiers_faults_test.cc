// SPDX-License-Identifier: Apache-2.0
// What is left of exact kernels that are compiled in the background when a process ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <future>
#include <string>

#include "frontend/api/composer.h"
#include "frontend/api/device.h"
#include "frontend/api/function.h"
#include "tests/backend_opencl/temporary_directory.h"
#include "tests/frontend/cli/run_program.h"
#include "tile/compiler/compile_options.h"
#include "tile/evaluator/compile_kernels.h"

namespace tartan::api {
namespace {

class TiersFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto devices = ListDevices(); !devices.ok()) GTEST_SKIP() << devices.status();
  }

  cli::ProgramResult Run(const std::string& mode, int runs, std::string cache = "") const {
    const char* build = std::getenv("TARTAN_BINARY_DIR");
    cli::ProgramOptions options;
    options.environment = {"TARTAN_CACHE_DIR=" + (cache.empty() ? directory_.path() : cache)};
    return cli::RunProgram(
        {"/usr/bin/timeout", "-s", "KILL", "300",
         std::string(build == nullptr ? "build" : build) + "/tests/tiers_program", mode,
         std::to_string(runs)},
        options);
  }

  // Whether a run ended well, the last of its answers being by kernels of this tier.
  static void ExpectTier(const cli::ProgramResult& result, const std::string& tier) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, tier) << result.err;
    EXPECT_EQ(result.err, "");
  }

  const TemporaryDirectory directory_;
};

TEST_F(TiersFaults, WhatTheBackgroundHasCompiledServesTheNextProcessAtOnce) {
  ExpectTier(Run("runs", 1), "ready");
  ExpectTier(Run("runs", 1), "ready");
  ExpectTier(Run("exact", 1), "exact");
  ExpectTier(Run("runs", 1), "exact");
}

TEST_F(TiersFaults, AProcessMayExitWhileItsExactKernelsAreCompiled) {
  for (int runs = 1; runs <= 6; ++runs) {
    const cli::ProgramResult result = Run("exit", 7 * runs * runs);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
  }
  ExpectTier(Run("exact", 1), "exact");
}

TEST_F(TiersFaults, AProcessMayBeKilledWhileItsExactKernelsAreCompiled) {
  for (int runs = 1; runs <= 6; ++runs) {
    const cli::ProgramResult result = Run("kill", 7 * runs * runs);
    EXPECT_EQ(result.exit_code, 128 + SIGKILL) << result.err;
    EXPECT_EQ(result.err, "");
  }
  ExpectTier(Run("exact", 1), "exact");
  ExpectTier(Run("runs", 1), "exact");
}

TEST_F(TiersFaults, TwoProcessesMayBeginWithOneEmptyCache) {
  auto other = std::async(std::launch::async, [&] { return Run("exact", 1); });
  ExpectTier(Run("exact", 1), "exact");
  ExpectTier(other.get(), "exact");
  ExpectTier(Run("runs", 1), "exact");
}

TEST_F(TiersFaults, RunsGoOnWhereTheCacheCannotBeWritten) {
  ExpectTier(Run("exact", 1, "/proc/no-cache"), "exact");
  ExpectTier(Run("exact", 1, "/dev/null"), "exact");
}

TEST_F(TiersFaults, AProgramIsFoundCompiledOnceAllItsKernelsAreThoseOfSetupToo) {
  setenv("TARTAN_CACHE_DIR", directory_.path().c_str(), 1);
  const auto open = [] { return *Device::Open(); };
  const Tensor x = Tensor::Placeholder("x", TensorShape{DataType::kFloat32, {5}});
  const Tensor w = Tensor::Constant(
      HostTensor::FromVector(TensorShape{DataType::kFloat32, {3}}, std::vector<float>{1, 2, 3}));
  const auto y = Apply("function (X, W) -> (Y) { S[] = +(W[m]); Y = X * S; }", {x, w});
  ASSERT_TRUE(y.ok()) << y.status();
  const auto composed = Compose({x}, {*y});
  ASSERT_TRUE(composed.ok()) << composed.status();
  const proto::Program& program = composed->program;

  EXPECT_EQ(open()->FindCompiled(program), nullptr);
  {
    const auto device = open();
    const auto compiled = device->Compile(program);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    ASSERT_FALSE((*compiled)->list().setup.empty());
    if ((*compiled)->has_all_kernels()) GTEST_SKIP() << "nothing is compiled at a first launch";
    EXPECT_EQ(device->FindCompiled(program), nullptr);
    EXPECT_EQ(open()->FindCompiled(program), nullptr);
    ASSERT_TRUE(evaluator::CompileKernels(**compiled).ok());
    EXPECT_EQ(device->FindCompiled(program), *compiled);
  }
  const auto found = open()->FindCompiled(program);
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->has_all_kernels());
  EXPECT_EQ(found->executable()->statistics().cache_misses, 0);
  EXPECT_EQ(open()->WithTier(compiler::Tier::kReady)->FindCompiled(program), nullptr);
}

}  // namespace
}  // namespace tartan::api
