// SPDX-License-Identifier: Apache-2.0
// What a device takes from the environment.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>
#include <string>

#include "frontend/api/device.h"
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
  setenv("TARTAN_LEAVE_OUT", "chain-products,fuse", 1);
  const auto device = Device::Open();
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->options().disabled_passes,
            (std::set<std::string>{"chain-products", "fuse"}));
  setenv("TARTAN_LEAVE_OUT", "analyze", 1);
  const absl::Status status = Device::Open().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("TARTAN_LEAVE_OUT"), std::string::npos);
  EXPECT_NE(std::string(status.message()).find("'analyze'"), std::string::npos);
}

}  // namespace
}  // namespace tartan::api
