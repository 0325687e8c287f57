// SPDX-License-Identifier: Apache-2.0
#include "distributed/in_process.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed/host_communicator.h"
#include "frontend/api/device.h"
#include "hal/null_backend.h"
#include "tests/distributed/conformance.h"

namespace tartan::distributed {
namespace {

using testing::HasSubstr;

hal::DevicePtr NullDevice() {
  const auto driver = hal::MakeNullDriver();
  return *driver->Open(driver->ListDevices()->front());
}

hal::DevicePtr DefaultDevice() {
  static const auto device = api::Device::Open();
  return device.ok() ? (*device)->hal() : nullptr;
}

Implementation Threads(int64_t count, const std::string& device, hal::DevicePtr (*open)()) {
  Implementation implementation;
  implementation.name = absl::StrCat(count, "RanksOn", device);
  implementation.run = [count, open](const auto& function) {
    const hal::DevicePtr device = open();
    if (device == nullptr) GTEST_SKIP() << "no device";
    std::vector<std::thread> threads;
    auto transports = InProcessRanks(count);
    for (auto& transport : transports) {
      threads.emplace_back([&function, &device, &transport] {
        HostCommunicator ranks(std::move(transport));
        function(ranks, device);
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  return implementation;
}

INSTANTIATE_TEST_SUITE_P(InProcess, Collectives,
                         testing::Values(Threads(1, "Null", NullDevice),
                                         Threads(2, "Null", NullDevice),
                                         Threads(5, "Null", NullDevice),
                                         Threads(3, "Default", DefaultDevice)),
                         NameOf);

TEST(InProcess, AFailureReachesARankThatWaits) {
  auto ranks = InProcessRanks(2);
  std::thread waits([&] {
    float value = 1;
    const absl::Status status = ranks[0]->AllReduce(
        absl::MakeSpan(reinterpret_cast<uint8_t*>(&value), sizeof(value)), DataType::kFloat32);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr("out of paper"));
  });
  ranks[1]->Fail("out of paper");
  waits.join();
}

}  // namespace
}  // namespace tartan::distributed
