// SPDX-License-Identifier: Apache-2.0
// The suite over MPI; run by mpirun.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed/host_communicator.h"
#include "distributed/mpi/mpi_transport.h"
#include "distributed/nccl/nccl_transport.h"
#include "frontend/api/device.h"
#include "hal/null_backend.h"
#include "tests/distributed/conformance.h"
#include "tile/base/status_macros.h"

namespace tartan::distributed {
namespace {

HostCommunicator* world = nullptr;
// The GPU of this rank, whose memory NCCL reaches, or why there is none.
absl::StatusOr<hal::DevicePtr> joined = absl::UnavailableError("no rank has a GPU");

// Opens the GPU with the rank's number among the GPUs of the host.
absl::StatusOr<hal::DevicePtr> OpenGpu(const Place& place) {
  TARTAN_ASSIGN_OR_RETURN(const auto devices, api::ListDevices());
  std::vector<int> gpus;
  for (const hal::DeviceInfo& info : devices) {
    if (info.type == hal::DeviceType::kGpu) gpus.push_back(info.index);
  }
  if (gpus.empty()) return absl::UnavailableError("the host has no GPU");
  const size_t number = static_cast<size_t>(place.local_rank) % gpus.size();
  TARTAN_ASSIGN_OR_RETURN(const auto device, api::Device::Open(absl::StrCat(gpus[number])));
  return device->hal();
}

// Joins the GPUs for the suite; if that fails, its tests are skipped and the others go on.
absl::StatusOr<std::unique_ptr<DeviceTransport>> JoinGpus(HostTransport& transport,
                                                          const hal::DevicePtr& device) {
  auto transport_of_devices = JoinNccl(transport, device);
  if (transport_of_devices.ok()) return transport_of_devices;
  joined = transport_of_devices.status();
  return std::unique_ptr<DeviceTransport>();
}

// All ranks have a GPU, or none.
void JoinWorld() {
  joined = OpenGpu(world->place());
  if (!joined.ok()) return;
  const absl::Status opened = world->Open(*joined);
  if (!opened.ok()) joined = opened;
}

Implementation Nccl() {
  return {"Nccl", [](const auto& function) {
            if (!joined.ok()) GTEST_SKIP() << joined.status();
            function(*world, *joined);
          }};
}

Implementation World(const std::string& name, bool is_null) {
  Implementation implementation;
  implementation.name = name;
  implementation.run = [is_null](const auto& function) {
    const auto driver = hal::MakeNullDriver();
    static const auto device = api::Device::Open();
    if (!is_null && !device.ok()) GTEST_SKIP() << device.status();
    function(*world, is_null ? *driver->Open(driver->ListDevices()->front()) : (*device)->hal());
  };
  return implementation;
}

INSTANTIATE_TEST_SUITE_P(Mpi, Collectives,
                         testing::Values(World("Null", true), World("Default", false), Nccl()),
                         NameOf);

TEST(Mpi, TheLauncherStartedSeveralRanks) { EXPECT_GT(world->place().ranks, 1); }

}  // namespace
}  // namespace tartan::distributed

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!tartan::distributed::StartedByMpi()) {
    std::fputs("start this program by mpirun\n", stderr);
    return 2;
  }
  auto transport = tartan::distributed::JoinMpi({});
  if (!transport.ok()) {
    std::fprintf(stderr, "%s\n", std::string(transport.status().message()).c_str());
    return 3;
  }
  tartan::distributed::HostCommunicator ranks(*std::move(transport), tartan::distributed::JoinGpus);
  tartan::distributed::world = &ranks;
  tartan::distributed::JoinWorld();
  const int failed = RUN_ALL_TESTS();
  const absl::Status finished =
      ranks.OnTransport([](auto& transport) { return transport.Finish(); });
  return failed != 0 || !finished.ok() ? 1 : 0;
}
