// SPDX-License-Identifier: Apache-2.0
// Measurements of a device, and their storage.
#include "backend_opencl/context/calibration.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include "backend_opencl/device/features/bfloat16_rate.h"
#include "backend_opencl/device/features/cpu_features.h"
#include "backend_opencl/device/opencl_driver.h"
#include "gtest/gtest.h"
#include "tests/backend_opencl/temporary_directory.h"

namespace tartan::opencl {
namespace {

constexpr int64_t kLimit = int64_t{1} << 30;

hal::DeviceInfo SomeDevice() {
  hal::DeviceInfo info;
  info.platform = "platform";
  info.name = "device";
  info.driver_version = "1";
  return info;
}

TEST(Calibration, IsFoundAgainForTheSameDeviceAndDriverOnly) {
  const TemporaryDirectory directory;
  DiskCache cache(directory.path(), kLimit, false);
  const Calibration measured = {1234.5, 67.25, 3.5, 128, true};
  EXPECT_EQ(LoadCalibration(cache, SomeDevice()), std::nullopt);
  StoreCalibration(cache, SomeDevice(), measured);
  EXPECT_EQ(LoadCalibration(cache, SomeDevice()), measured);

  hal::DeviceInfo other = SomeDevice();
  other.driver_version = "2";
  EXPECT_EQ(LoadCalibration(cache, other), std::nullopt);
  other = SomeDevice();
  other.settings.compute_units = 7;  // fewer compute units reach less
  EXPECT_EQ(LoadCalibration(cache, other), std::nullopt);
}

TEST(Calibration, DropsDotsThatAreSlowerThanMultiplyAdds) {
  EXPECT_TRUE(HasFastDots({0.2, 0.2}));
  EXPECT_FALSE(HasFastDots({0.4, 0.2}));
  HardwareSettings settings;
  settings.multiplies_bfloat16 = true;
  Apply({1, 2, 3, 4, false}, &settings);
  EXPECT_TRUE(settings.multiplies_bfloat16);
  Apply({1, 2, 3, 4, true}, &settings);
  EXPECT_FALSE(settings.multiplies_bfloat16);
}

TEST(Calibration, MeasuresDotsWhereTheProcessorHasThem) {
  if (!ReadHostFeatures().avx512_bf16) GTEST_SKIP() << "the processor has no AVX-512 BF16";
  const BFloat16Rate rate = MeasureBFloat16Rate();
  EXPECT_GT(rate.dot_ns, 0.05);  // two per cycle at 10 GHz
  EXPECT_GT(rate.multiply_add_ns, 0.05);
  EXPECT_LT(rate.dot_ns, 1000);
}

TEST(Calibration, OfADamagedFileIsNotTaken) {
  const TemporaryDirectory directory;
  DiskCache cache(directory.path(), kLimit, false);
  StoreCalibration(cache, SomeDevice(), {1, 2, 3, 4});
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (!file.is_regular_file()) continue;
    std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(-3, std::ios::end);
    stream.put('\x7f');
  }
  EXPECT_EQ(LoadCalibration(cache, SomeDevice()), std::nullopt);
}

// Opens the first device of the machine with a disk cache in `directory`.
absl::StatusOr<hal::DevicePtr> OpenFirst(const std::string& directory, Calibrations calibrations) {
  OpenClOptions options;
  options.cache_directory = directory;
  options.calibrations = calibrations;
  const std::unique_ptr<hal::Driver> driver = MakeOpenClDriver(options);
  const auto devices = driver->ListDevices();
  if (!devices.ok()) return devices.status();
  if (devices->empty()) return absl::UnavailableError("no device");
  return driver->Open(devices->front());
}

TEST(Calibration, IsNotWhatOpeningADeviceWaitsFor) {
  const TemporaryDirectory directory;
  const auto device = OpenFirst(directory.path(), Calibrations::kOnce);
  if (!device.ok()) GTEST_SKIP() << device.status();
  EXPECT_EQ((*device)->info().settings.gflops, 0);
  EXPECT_FALSE((*device)->Knows(hal::Knowledge::kMeasured));
  // The compiler's features are unknown, too: nothing was built and stored.
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/kernels"));
  EXPECT_EQ(*(*device)->Settings(hal::Knowledge::kReported), (*device)->info().settings);
}

TEST(Calibration, MeasuresADeviceOnceAndKeepsIt) {
  const TemporaryDirectory directory;
  auto device = OpenFirst(directory.path(), Calibrations::kStored);
  if (!device.ok()) GTEST_SKIP() << device.status();
  EXPECT_EQ((*device)->Settings(hal::Knowledge::kMeasured)->gflops, 0);

  device = OpenFirst(directory.path(), Calibrations::kOnce);
  ASSERT_TRUE(device.ok()) << device.status();
  const absl::StatusOr<HardwareSettings> first = (*device)->Settings(hal::Knowledge::kMeasured);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_GT(first->gflops, 0.1);
  EXPECT_LT(first->gflops, 1e6);
  EXPECT_GT(first->gbps, 0.1);
  EXPECT_LT(first->gbps, 1e5);
  EXPECT_GT(first->launch_us, 0);
  EXPECT_GE(first->threads, 1);
  EXPECT_EQ((*device)->statistics().peak_allocated_bytes, 0);
  EXPECT_TRUE((*device)->Knows(hal::Knowledge::kMeasured));
  EXPECT_EQ(*(*device)->Settings(hal::Knowledge::kMeasured), *first);

  for (const Calibrations later : {Calibrations::kOnce, Calibrations::kStored}) {
    device = OpenFirst(directory.path(), later);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_TRUE((*device)->Knows(hal::Knowledge::kMeasured));
    EXPECT_EQ(*(*device)->Settings(hal::Knowledge::kMeasured), *first);
  }
}

TEST(Calibration, AddsToWhatTheCompilerSaysMeasuredNumbersAlone) {
  const TemporaryDirectory directory;
  const auto device = OpenFirst(directory.path(), Calibrations::kOnce);
  if (!device.ok()) GTEST_SKIP() << device.status();
  HardwareSettings compiler = *(*device)->Settings(hal::Knowledge::kCompiler);
  EXPECT_TRUE((*device)->Knows(hal::Knowledge::kCompiler));
  EXPECT_FALSE((*device)->Knows(hal::Knowledge::kMeasured));
  EXPECT_EQ(compiler.gflops, 0);
  const HardwareSettings measured = *(*device)->Settings(hal::Knowledge::kMeasured);
  EXPECT_EQ(*(*device)->Settings(hal::Knowledge::kCompiler), compiler);
  Apply({measured.gflops, measured.gbps, measured.launch_us, measured.threads,
         compiler.multiplies_bfloat16 && !measured.multiplies_bfloat16},
        &compiler);
  EXPECT_EQ(compiler, measured);
}

TEST(Calibration, IsOneAnswerForAllThreadsThatAskAtOnce) {
  const TemporaryDirectory directory;
  const auto device = OpenFirst(directory.path(), Calibrations::kOnce);
  if (!device.ok()) GTEST_SKIP() << device.status();
  std::vector<HardwareSettings> answers(4);
  std::vector<std::thread> threads;
  for (HardwareSettings& answer : answers) {
    threads.emplace_back(
        [&] { answer = (*device)->Settings(hal::Knowledge::kMeasured).value_or(answer); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(answers[0].gflops, 0);
  for (const HardwareSettings& answer : answers) EXPECT_EQ(answer, answers[0]);
}

TEST(Calibration, IsMadeAtOnceAndAgainWhereThatIsWanted) {
  const TemporaryDirectory directory;
  if (const auto device = OpenFirst(directory.path(), Calibrations::kStored); !device.ok()) {
    GTEST_SKIP() << device.status();
  }
  DiskCache cache(directory.path(), kLimit, false);
  const auto device = OpenFirst(directory.path(), Calibrations::kAgain);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_TRUE((*device)->Knows(hal::Knowledge::kMeasured));
  EXPECT_GT((*device)->Settings(hal::Knowledge::kMeasured)->gflops, 0);
  StoreCalibration(cache, (*device)->info(), {1, 2, 3, 4});
  const auto kept = OpenFirst(directory.path(), Calibrations::kOnce);
  EXPECT_EQ((*kept)->Settings(hal::Knowledge::kMeasured)->launch_us, 3);
  const auto again = OpenFirst(directory.path(), Calibrations::kAgain);
  EXPECT_NE((*again)->Settings(hal::Knowledge::kMeasured)->launch_us, 3);
}

TEST(Calibration, OfOneDeviceByTwoAtOnceLeavesOneResult) {
  const TemporaryDirectory directory;
  if (const auto device = OpenFirst(directory.path(), Calibrations::kStored); !device.ok()) {
    GTEST_SKIP() << device.status();
  }
  const auto calibrate = [&directory] {
    const auto device = OpenFirst(directory.path(), Calibrations::kAgain);
    ASSERT_TRUE(device.ok()) << device.status();
    EXPECT_GT((*device)->Settings(hal::Knowledge::kMeasured)->gflops, 0);
  };
  std::thread other(calibrate);
  calibrate();
  other.join();
  const auto device = OpenFirst(directory.path(), Calibrations::kStored);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_GT((*device)->Settings(hal::Knowledge::kMeasured)->gbps, 0);
}

}  // namespace
}  // namespace tartan::opencl
