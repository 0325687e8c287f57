#include "backend_opencl/driver_quirks.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/backend_opencl/temporary_directory.h"

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

TEST(QuirksOf, LeavesPoclItsOwnCache) {
  EXPECT_TRUE(QuirksOf(Device("Portable Computing Language", "AMD")).relies_on_own_cache);
}

TEST(QuirksOf, BoundsTheLocalMemoryOfNvidia) {
  EXPECT_EQ(QuirksOf(Device("NVIDIA CUDA", "NVIDIA Corporation")).max_local_memory_bytes, 49152);
}

TEST(QuirksOf, KeepsSubBuffersApartOnNvidia) {
  EXPECT_TRUE(QuirksOf(Device("NVIDIA CUDA", "NVIDIA Corporation")).overlapping_sub_buffers_crash);
}

class PoclCacheIdentityTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* saved = std::getenv("POCL_CACHE_DIR");
    saved_ = saved == nullptr ? "" : saved;
    setenv("POCL_CACHE_DIR", path_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("POCL_KERNEL_CACHE");
    if (saved_.empty()) {
      unsetenv("POCL_CACHE_DIR");
    } else {
      setenv("POCL_CACHE_DIR", saved_.c_str(), 1);
    }
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_.path() + "/kcache";
  std::string saved_;
};

TEST_F(PoclCacheIdentityTest, IsNoneWhereThereIsNoCache) {
  EXPECT_EQ(PoclCacheIdentity(), std::nullopt);
}

TEST_F(PoclCacheIdentityTest, StaysWhileTheCacheStays) {
  std::filesystem::create_directory(path_);
  const auto before = PoclCacheIdentity();
  ASSERT_NE(before, std::nullopt);
  std::filesystem::create_directory(path_ + "/program");
  EXPECT_EQ(PoclCacheIdentity(), before);
}

TEST_F(PoclCacheIdentityTest, ChangesWhenTheCacheIsDeletedAndMadeAgain) {
  std::filesystem::create_directory(path_);
  const auto before = PoclCacheIdentity();
  std::filesystem::rename(path_, directory_.path() + "/old");
  std::filesystem::create_directory(path_);
  EXPECT_NE(PoclCacheIdentity(), before);
}

TEST_F(PoclCacheIdentityTest, IsNoneWherePoclIsToldToCacheNothing) {
  std::filesystem::create_directory(path_);
  setenv("POCL_KERNEL_CACHE", "0", 1);
  EXPECT_EQ(PoclCacheIdentity(), std::nullopt);
}

}  // namespace
}  // namespace tartan::opencl
