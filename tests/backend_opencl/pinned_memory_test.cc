// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/pinned_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "backend_opencl/device/features/device_query.h"

namespace tartan::opencl {
namespace {

// The first device's driver pins memory, even if the device gains nothing from it.
class PinnedMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto devices = FindDevices();
    ASSERT_TRUE(devices.ok()) << devices.status();
    cl_device_id device = devices->front().device;
    cl_int error = CL_SUCCESS;
    context_ =
        ContextHandle(CreateCl(&error, clCreateContext, nullptr, 1, &device, nullptr, nullptr));
    ASSERT_EQ(error, CL_SUCCESS);
    pinned_ = std::make_shared<PinnedMemory>(context_.get(), device);
  }

  ContextHandle context_;
  std::shared_ptr<PinnedMemory> pinned_;
};

TEST_F(PinnedMemoryTest, IsThereForAsManyBytesAsWereAskedFor) {
  const hal::HostMemory memory = pinned_->Take(100'001);
  ASSERT_NE(memory.owner, nullptr);
  ASSERT_EQ(memory.bytes.size(), 100'001u);
  std::memset(memory.bytes.data(), 7, memory.bytes.size());
  EXPECT_EQ(memory.bytes.back(), 7);
}

TEST_F(PinnedMemoryTest, OfFewBytesOrTooManyIsNone) {
  EXPECT_EQ(pinned_->Take(PinnedMemory::kMinBytes - 1).owner, nullptr);
  EXPECT_EQ(pinned_->Take(PinnedMemory::kMaxBytes + 1).owner, nullptr);
}

TEST_F(PinnedMemoryTest, IsUsedAgainOnceNobodyHasIt) {
  hal::HostMemory first = pinned_->Take(100'000);
  const hal::HostMemory second = pinned_->Take(100'000);
  EXPECT_NE(first.bytes.data(), second.bytes.data());
  const uint8_t* const place = first.bytes.data();
  std::shared_ptr<const void> reader = first.owner;
  first = {};
  EXPECT_NE(pinned_->Take(100'000).bytes.data(), place);  // the block is still being read
  reader.reset();
  EXPECT_EQ(pinned_->Take(99'999).bytes.data(), place);  // of nearly the same size, too
}

TEST_F(PinnedMemoryTest, KnowsTheAddressesInUse) {
  hal::HostMemory first = pinned_->Take(100'000);
  const hal::HostMemory second = pinned_->Take(200'000);
  const uint8_t* const begin = first.bytes.data();
  EXPECT_TRUE(pinned_->IsUsed(begin));
  EXPECT_TRUE(pinned_->IsUsed(begin + 99'999));
  EXPECT_TRUE(pinned_->IsUsed(second.bytes.data() + 7));
  EXPECT_FALSE(pinned_->IsUsed(reinterpret_cast<const uint8_t*>(&first)));
  first = {};
  EXPECT_FALSE(pinned_->IsUsed(begin + 99'999));
}

TEST_F(PinnedMemoryTest, OutlivesTheDevice) {
  hal::HostMemory memory = pinned_->Take(100'000);
  pinned_.reset();
  context_ = ContextHandle();
  std::memset(memory.bytes.data(), 7, memory.bytes.size());
  EXPECT_EQ(memory.bytes.front(), 7);
}

// Unused memory is limited: another block frees the one that was released first.
TEST_F(PinnedMemoryTest, KeepsNoMoreThanItsShare) {
  constexpr int64_t kBytes = PinnedMemory::kMaxUnusedBytes / 2;
  std::vector<hal::HostMemory> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(pinned_->Take(kBytes));
  for (const hal::HostMemory& memory : taken) ASSERT_NE(memory.owner, nullptr);
  const uint8_t* const last = taken.back().bytes.data();
  while (!taken.empty()) taken.erase(taken.begin());
  EXPECT_EQ(pinned_->kept_bytes(), 2 * kBytes);
  EXPECT_EQ(pinned_->Take(kBytes).bytes.data(), last);
}

TEST_F(PinnedMemoryTest, IsSharedByThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 50; ++i) {
        const hal::HostMemory memory = pinned_->Take(100'000);
        if (memory.owner == nullptr) continue;
        std::memset(memory.bytes.data(), t, memory.bytes.size());
        EXPECT_EQ(memory.bytes[5], t);
        EXPECT_EQ(memory.bytes.back(), t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tartan::opencl
