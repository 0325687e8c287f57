// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/driver_quirks.h"

#include <gtest/gtest.h>

namespace tartan::opencl {
namespace {

hal::DeviceInfo Device(const std::string& platform, const std::string& vendor) {
  hal::DeviceInfo info;
  info.platform = platform;
  info.vendor = vendor;
  return info;
}

TEST(QuirksOf, AreNoneForADriverNotHeardOf) {
  const DriverQuirks quirks = QuirksOf(Device("Some Platform", "Some Vendor"));
  EXPECT_FALSE(quirks.relies_on_own_cache);
  EXPECT_EQ(quirks.max_local_memory_bytes, std::nullopt);
  EXPECT_FALSE(quirks.overlapping_sub_buffers_crash);
}

TEST(QuirksOf, KeepsTheFilesOfPocl) {
  EXPECT_TRUE(QuirksOf(Device("Portable Computing Language", "AMD")).relies_on_own_cache);
}

TEST(QuirksOf, RunsSequencesOnCpusOfPocl) {
  hal::DeviceInfo info = Device("Portable Computing Language", "AMD");
  info.type = hal::DeviceType::kCpu;
  EXPECT_TRUE(QuirksOf(info).batches_launches);
  info.type = hal::DeviceType::kGpu;
  EXPECT_FALSE(QuirksOf(info).batches_launches);
  info = Device("Intel(R) OpenCL", "Intel(R) Corporation");
  info.type = hal::DeviceType::kCpu;
  EXPECT_FALSE(QuirksOf(info).batches_launches);
}

TEST(QuirksOf, RunsSequencesOnGpusOfNvidia) {
  hal::DeviceInfo info = Device("NVIDIA CUDA", "NVIDIA Corporation");
  info.type = hal::DeviceType::kGpu;
  EXPECT_TRUE(QuirksOf(info).batches_launches);
  info.vendor = "Advanced Micro Devices, Inc.";
  EXPECT_FALSE(QuirksOf(info).batches_launches);
}

// The pool has most of a compute unit's local memory, and no less than kMaxBatchLocalBytes.
TEST(QuirksOf, GivesSequencesOfNvidiaMostOfTheLocalMemory) {
  hal::DeviceInfo info = Device("NVIDIA CUDA", "NVIDIA Corporation");
  info.settings.local_memory_bytes = 227 << 10;
  EXPECT_EQ(QuirksOf(info).megakernel_pool_bytes, 192 << 10);
  info.settings.local_memory_bytes = 99 << 10;
  EXPECT_EQ(QuirksOf(info).megakernel_pool_bytes, 83 << 10);
  info.settings.local_memory_bytes = 20 << 10;
  EXPECT_EQ(QuirksOf(info).megakernel_pool_bytes, 12 << 10);
}

TEST(QuirksOf, BoundsTheLocalMemoryOfNvidia) {
  EXPECT_EQ(QuirksOf(Device("NVIDIA CUDA", "NVIDIA Corporation")).max_local_memory_bytes, 49152);
}

TEST(QuirksOf, KeepsSubBuffersApartOnNvidia) {
  EXPECT_TRUE(QuirksOf(Device("NVIDIA CUDA", "NVIDIA Corporation")).overlapping_sub_buffers_crash);
}

}  // namespace
}  // namespace tartan::opencl
