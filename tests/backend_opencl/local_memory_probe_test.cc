// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/local_memory_probe.h"

#include <gtest/gtest.h>

#include <memory>

#include "backend_opencl/context/device_knowledge.h"
#include "tests/backend_opencl/temporary_directory.h"

namespace tartan::opencl {
namespace {

constexpr int64_t kLimit = int64_t{1} << 20;
constexpr int64_t kSmall = 4 << 10;

class LocalMemoryProbe : public testing::Test {
 protected:
  void SetUp() override {
    const auto devices = FindDevices();
    ASSERT_TRUE(devices.ok()) << devices.status();
    found_ = devices->front();
    found_.info.type = hal::DeviceType::kGpu;  // so that the compiler's features are not queried
    cl_int error = CL_SUCCESS;
    context_ = ContextHandle(
        CreateCl(&error, clCreateContext, nullptr, 1, &found_.device, nullptr, nullptr));
    ASSERT_EQ(error, CL_SUCCESS);
  }

  const TemporaryDirectory directory_;
  std::shared_ptr<DiskCache> cache_ = std::make_shared<DiskCache>(directory_.path(), kLimit, false);
  FoundDevice found_;
  ContextHandle context_;
};

TEST_F(LocalMemoryProbe, KeepsTheAnswerOfEachSize) {
  EXPECT_FALSE(KnowsLocalArray(found_, kSmall, cache_.get()));
  EXPECT_TRUE(TakesLocalArray(context_.get(), found_, kSmall, cache_.get()));
  EXPECT_TRUE(KnowsLocalArray(found_, kSmall, cache_.get()));
  EXPECT_FALSE(KnowsLocalArray(found_, 2 * kSmall, cache_.get()));
  FoundDevice other = found_;
  other.info.driver_version += "1";
  EXPECT_FALSE(KnowsLocalArray(other, kSmall, cache_.get()));
}

TEST_F(LocalMemoryProbe, OfADriverThatBuildsNothingSaysNo) {
  EXPECT_FALSE(TakesLocalArray(nullptr, found_, kSmall, cache_.get()));
  EXPECT_TRUE(KnowsLocalArray(found_, kSmall, cache_.get()));
  EXPECT_FALSE(TakesLocalArray(context_.get(), found_, kSmall, cache_.get()));
}

TEST_F(LocalMemoryProbe, GivesMatrixUnitsWhatIsWanted) {
  found_.info.settings.matrix_local_bytes = 1 << 10;
  found_.wanted_matrix_local_bytes = kSmall;
  DeviceKnowledge knowledge(found_, cache_, Calibrations::kStored);
  EXPECT_FALSE(knowledge.KnowsCompiler());
  EXPECT_EQ(knowledge.Compiler(context_.get()).settings.matrix_local_bytes, kSmall);
  EXPECT_TRUE(DeviceKnowledge(found_, cache_, Calibrations::kStored).KnowsCompiler());

  DeviceKnowledge refused(found_, nullptr, Calibrations::kStored);
  EXPECT_EQ(refused.Compiler(nullptr).settings.matrix_local_bytes, 1 << 10);
}

}  // namespace
}  // namespace tartan::opencl
