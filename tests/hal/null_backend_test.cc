// SPDX-License-Identifier: Apache-2.0
#include "hal/null_backend.h"

#include "tests/hal/conformance.h"

namespace tartan::hal {
namespace {

constexpr char kNoArithmetic[] = "null kernels do nothing";

Backend NullBackend() {
  Backend backend;
  backend.name = "null";
  backend.make_driver = [] { return MakeNullDriver(); };
  backend.format = "null";
  backend.add_one.name = "add_one";
  backend.scale.name = "scale";
  backend.skipped = {
      {"ReportsAFailedBuildWithTheDriversLog", "null kernels have no text that could be wrong"},
      {"RefusesLaunchesThatDoNotFitTheKernel", "null kernels take any arguments"},
      {"KernelsComputeInTheOrderOfTheQueue", kNoArithmetic},
      {"KernelsReadAndWriteParts", kNoArithmetic},
      {"ReplaysARecordingAgainAndAgain", kNoArithmetic},
      {"CopiesBetweenRecordedLaunches", kNoArithmetic},
      {"AQueueKeepsWhatItUsesAliveUntilTheWorkIsDone", kNoArithmetic},
      {"TakesManyLaunchesWithoutWaiting", kNoArithmetic},
      {"ADroppedQueueFinishesItsWork", kNoArithmetic},
      {"ServesSeveralThreadsAtOnce", kNoArithmetic},
  };
  return backend;
}

INSTANTIATE_TEST_SUITE_P(Hal, Conformance, testing::Values(NullBackend()), BackendName);

TEST(NullBackend, RefusesMemoryBeyondItsOption) {
  const auto driver = MakeNullDriver({.memory_bytes = 100});
  const DevicePtr device = *driver->Open(driver->ListDevices()->front());
  const BufferPtr most = *device->Allocate(60);
  EXPECT_EQ(device->Allocate(41).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(device->Allocate(40).ok());
}

TEST(DeviceType, HasANameForEachValue) {
  EXPECT_EQ(Name(DeviceType::kCpu), "cpu");
  EXPECT_EQ(Name(DeviceType::kGpu), "gpu");
  EXPECT_EQ(Name(DeviceType::kAccelerator), "accelerator");
  EXPECT_EQ(Name(DeviceType::kOther), "other");
}

}  // namespace
}  // namespace tartan::hal
