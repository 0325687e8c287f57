// SPDX-License-Identifier: Apache-2.0
// Large buffers of CPU devices.
#include "backend_opencl/context/huge_pages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "backend_opencl/device/opencl_driver.h"

namespace tartan::opencl {
namespace {

constexpr auto kPage = static_cast<int64_t>(HugePages::kPageBytes);

TEST(HugePages, AreLeftToWhatFillsOne) {
  EXPECT_EQ(HugePages::Take(0), nullptr);
  EXPECT_EQ(HugePages::Take(kPage - 1), nullptr);
}

TEST(HugePages, AreZerosToWriteThatBeginAtTheirBoundary) {
  for (const int64_t bytes : {kPage, kPage + 1, 3 * kPage - 5}) {
    const auto pages = HugePages::Take(bytes);
    if (pages == nullptr) GTEST_SKIP() << "this system has none";
    auto* const data = static_cast<uint8_t*>(pages->data());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % HugePages::kPageBytes, 0U);
    EXPECT_EQ(data[0], 0);
    EXPECT_EQ(data[bytes - 1], 0);
    std::memset(data, 7, static_cast<size_t>(bytes));
    EXPECT_EQ(data[bytes - 1], 7);
  }
}

TEST(HugePages, AreRefusedWhereThereIsNoRoom) {
  EXPECT_EQ(HugePages::Take(int64_t{1} << 60), nullptr);
}

// Data written to a buffer and to a sub-buffer can be read back, and all memory is released.
TEST(HugePages, HoldBuffersAsSmallOnesDo) {
  OpenClOptions options;
  options.use_disk_cache = false;
  const auto driver = MakeOpenClDriver(options);
  const auto devices = driver->ListDevices();
  if (!devices.ok() || devices->empty()) GTEST_SKIP() << "no OpenCL device";
  for (const hal::DeviceInfo& info : *devices) {
    const auto device = driver->Open(info);
    ASSERT_TRUE(device.ok()) << device.status();
    const int64_t before = (*device)->statistics().allocated_bytes;
    for (const int64_t bytes : {int64_t{64}, kPage, 2 * kPage + 64}) {
      const auto buffer = (*device)->Allocate(bytes);
      ASSERT_TRUE(buffer.ok()) << buffer.status();
      EXPECT_EQ((*device)->statistics().allocated_bytes, before + bytes);
      const auto queue = (*device)->CreateQueue(false);
      ASSERT_TRUE(queue.ok()) << queue.status();
      std::vector<uint8_t> values(static_cast<size_t>(bytes));
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 31 + i / 255);
      ASSERT_TRUE((*queue)->Write(*buffer, 0, values).ok());
      const auto end = (*device)->SubBuffer(*buffer, 0, 64);
      ASSERT_TRUE(end.ok()) << end.status();
      ASSERT_TRUE((*queue)->Write(*end, 8, {values.data() + 1, 8}).ok());
      std::memmove(values.data() + 8, values.data() + 1, 8);
      std::vector<uint8_t> read(values.size());
      ASSERT_TRUE((*queue)->Read(*buffer, 0, absl::MakeSpan(read)).ok());
      EXPECT_EQ(read, values) << bytes;
    }
    EXPECT_EQ((*device)->statistics().allocated_bytes, before);
  }
}

}  // namespace
}  // namespace tartan::opencl
