// SPDX-License-Identifier: Apache-2.0
// Tests of the environment variables that a device reads.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>
#include <string>

#include "frontend/api/device.h"
#include "frontend/api/eager/eager_runtime.h"
#include "frontend/api/function.h"
#include "tile/compiler/compile_options.h"

namespace tartan::api {
namespace {

class DeviceEnvironment : public testing::Test {
 protected:
  void SetUp() override {
    const auto device = Device::Open();
    if (!device.ok()) GTEST_SKIP() << device.status();
  }
  ~DeviceEnvironment() override {
    unsetenv("TARTAN_WINOGRAD");
    unsetenv("TARTAN_LEAVE_OUT");
    unsetenv("TARTAN_HOST");
  }

  static absl::Status OpenWith(const char* winograd) {
    setenv("TARTAN_WINOGRAD", winograd, 1);
    return Device::Open().status();
  }
};

TEST_F(DeviceEnvironment, KnowsTwoValuesForWinogradsAlgorithm) {
  for (const char* known : {"0", "1", ""}) EXPECT_TRUE(OpenWith(known).ok()) << known;
}

TEST_F(DeviceEnvironment, RefusesOthersAndTellsWhatItKnows) {
  for (const std::string unknown : {"off", "false", "2", "1 ", "00"}) {
    const absl::Status status = OpenWith(unknown.c_str());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << unknown;
    const std::string message(status.message());
    EXPECT_NE(message.find("TARTAN_WINOGRAD"), std::string::npos) << message;
    EXPECT_NE(message.find("'" + unknown + "'"), std::string::npos) << message;
    EXPECT_NE(message.find("0 or 1"), std::string::npos) << message;
  }
}

TEST_F(DeviceEnvironment, LeavesOutPassesThatMayBe) {
  setenv("TARTAN_LEAVE_OUT", "fuse-attention,fuse", 1);
  const auto device = Device::Open();
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->options().disabled_passes,
            (std::set<std::string>{"fuse-attention", "fuse"}));
  setenv("TARTAN_LEAVE_OUT", "analyze", 1);
  const absl::Status status = Device::Open().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("TARTAN_LEAVE_OUT"), std::string::npos);
  EXPECT_NE(std::string(status.message()).find("'analyze'"), std::string::npos);
}

// The tier of an addition of two elements. By default, the eager runtime computes it on the host.
std::string TierOfSmallSum() {
  const auto device = Device::Open();
  EXPECT_TRUE(device.ok()) << device.status();
  EagerRuntime runtime(*device);
  const Tensor x = Tensor::Leaf(HostTensor::FromVector<float>({DataType::kFloat32, {2}}, {1, 2}));
  const auto sum = Apply("function (X) -> (Y) { Y = X + X; }", {x});
  EXPECT_TRUE(sum.ok()) << sum.status();
  RunStatistics statistics;
  const auto values = runtime.Evaluate({*sum}, &statistics);
  EXPECT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(values->front().GetDouble(1), 4);
  return statistics.host_programs > 0 ? "host" : "kernels";
}

TEST_F(DeviceEnvironment, KeepsSmallWorkFromTheHost) {
  EXPECT_EQ(TierOfSmallSum(), "host");
  setenv("TARTAN_HOST", "off", 1);
  EXPECT_EQ(TierOfSmallSum(), "kernels");
  setenv("TARTAN_HOST", "no", 1);
  const absl::Status status = Device::Open().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "the environment variable TARTAN_HOST is 'no'; expected on or off");
}

}  // namespace
}  // namespace tartan::api
