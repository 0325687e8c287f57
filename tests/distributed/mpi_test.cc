// SPDX-License-Identifier: Apache-2.0
// The suite over MPI; run by mpirun.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "distributed/host_communicator.h"
#include "distributed/mpi/mpi_transport.h"
#include "frontend/api/device.h"
#include "hal/null_backend.h"
#include "tests/distributed/conformance.h"

namespace tartan::distributed {
namespace {

HostCommunicator* world = nullptr;

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
                         testing::Values(World("Null", true), World("Default", false)), NameOf);

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
  tartan::distributed::HostCommunicator ranks(*std::move(transport));
  tartan::distributed::world = &ranks;
  const int failed = RUN_ALL_TESTS();
  const absl::Status finished =
      ranks.OnTransport([](auto& transport) { return transport.Finish(); });
  return failed != 0 || !finished.ok() ? 1 : 0;
}
