// SPDX-License-Identifier: Apache-2.0
// Copies between GPUs: a fake of CUDA's functions, and a CPU device of OpenCL.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed/host_communicator.h"
#include "distributed/in_process.h"
#include "distributed/peer/file_exchange.h"
#include "distributed/peer/peer_transport.h"
#include "frontend/api/device.h"
#include "tests/distributed/conformance.h"
#include "tests/distributed/fake_cuda.h"
#include "tests/distributed/train_on_ranks.h"

namespace tartan::distributed {
namespace {

using testing::HasSubstr;

// Ranks that join devices of the fake. Two operations of the suite need several pieces.
constexpr int64_t kBox = 4096;

JoinDevices JoinFakes(const std::shared_ptr<FakeImporter>& importer) {
  return [importer](HostTransport& transport, const hal::DevicePtr& device) {
    return JoinPeers(transport, SharedDevice::Open(FakeCuda(), *importer, device), kBox);
  };
}

// Calls the function on every rank, each of which is a thread.
void OnRanks(int64_t ranks, const std::function<void(HostTransport& transport)>& function) {
  std::vector<std::thread> threads;
  auto transports = InProcessRanks(ranks);
  for (auto& transport : transports) threads.emplace_back([&] { function(*transport); });
  for (std::thread& thread : threads) thread.join();
}

hal::DevicePtr CpuDevice() {
  static const auto device = api::Device::Open();
  const bool is_cpu = device.ok() && (*device)->hal()->info().type == hal::DeviceType::kCpu;
  return is_cpu ? (*device)->hal() : nullptr;
}

Implementation Peers(int64_t count) {
  Implementation implementation;
  implementation.name = absl::StrCat(count, "Ranks");
  implementation.run = [count](const auto& function) {
    const hal::DevicePtr device = CpuDevice();
    if (device == nullptr) GTEST_SKIP() << "no CPU device";
    std::vector<std::thread> threads;
    for (auto& transport : InProcessRanks(count)) {
      threads.emplace_back([&function, &device, transport = std::move(transport)]() mutable {
        const auto importer = std::make_shared<FakeImporter>(device, transport->place().rank);
        HostCommunicator ranks(std::move(transport), JoinFakes(importer));
        const absl::Status opened = ranks.Open(device);
        EXPECT_TRUE(opened.ok()) << opened;
        if (opened.ok()) function(ranks, device);
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  return implementation;
}

INSTANTIATE_TEST_SUITE_P(Peers, Collectives, testing::Values(Peers(1), Peers(2), Peers(5)), NameOf);

// Joins two ranks, which add elements, and returns the failures of both.
std::vector<absl::Status> FailuresWith(const FakeFaults& faults) {
  std::vector<absl::Status> failures(2);
  const hal::DevicePtr device = CpuDevice();
  SetFaults(faults);
  OnRanks(2, [&](HostTransport& transport) {
    const int64_t rank = transport.place().rank;
    FakeImporter importer(device, rank);
    const auto joined =
        JoinPeers(transport, SharedDevice::Open(FakeCuda(), importer, device), kBox);
    failures[static_cast<size_t>(rank)] = joined.status();
    if (!joined.ok()) return;
    const auto buffer = (*joined)->Allocate(1024);
    failures[static_cast<size_t>(rank)] =
        (*joined)->AllReduce({*buffer, 0, 1024}, DataType::kFloat32);
  });
  SetFaults({});
  return failures;
}

class PeerFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (CpuDevice() == nullptr) GTEST_SKIP() << "no CPU device";
  }
};

TEST_F(PeerFaults, DevicesThatDoNotReachEachOtherAreNotJoined) {
  FakeFaults faults;
  faults.no_peer_access = true;
  for (const absl::Status& failure : FailuresWith(faults)) {
    EXPECT_EQ(failure.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(failure.message(), HasSubstr("cannot reach each other's memory"));
  }
}

TEST_F(PeerFaults, CopiesThatDoNotArriveAreFoundWhileTheDevicesAreJoined) {
  FakeFaults faults;
  faults.loses_copies = true;
  for (const absl::Status& failure : FailuresWith(faults)) {
    EXPECT_EQ(failure.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(failure.message(), HasSubstr("copies between GPUs are wrong"));
  }
}

TEST_F(PeerFaults, ACopyThatFailsIsAnErrorOfAllRanks) {
  FakeFaults faults;
  faults.failing_copy = 5;  // joining makes four
  const std::vector<absl::Status> failures = FailuresWith(faults);
  std::string all;
  for (const absl::Status& failure : failures) {
    EXPECT_EQ(failure.code(), absl::StatusCode::kUnavailable);
    absl::StrAppend(&all, failure.message(), "\n");
  }
  EXPECT_THAT(all, HasSubstr("cuMemcpyAsync: CUDA_ERROR_INVALID_VALUE (1)"));
  EXPECT_THAT(all, HasSubstr("a copy between GPUs fails on 1 other ranks"));
}

TEST_F(PeerFaults, TwoRanksWithOneDeviceAreNotJoined) {
  OnRanks(2, [](HostTransport& transport) {
    FakeImporter importer(CpuDevice(), /*number=*/7);
    const auto joined =
        JoinPeers(transport, SharedDevice::Open(FakeCuda(), importer, CpuDevice()), kBox);
    EXPECT_THAT(joined.status().message(), HasSubstr("ranks 0 and 1 share one"));
  });
}

TEST(FileExchange, GivesEachRankTheFilesOfTheOthers) {
  OnRanks(3, [](HostTransport& transport) {
    const std::unique_ptr<FILE, int (*)(FILE*)> own(std::tmpfile(), std::fclose);
    const int64_t rank = transport.place().rank;
    ASSERT_EQ(ftruncate(fileno(own.get()), 100 + rank), 0);
    const auto files = ExchangeFiles(transport, fileno(own.get()));
    ASSERT_TRUE(files.ok()) << files.status();
    for (int64_t other = 0; other < 3; ++other) {
      struct stat found = {};
      const int file = (*files)[static_cast<size_t>(other)];
      EXPECT_EQ(fstat(file, &found), other == rank ? -1 : 0);
      if (other == rank) continue;
      EXPECT_EQ(found.st_size, 100 + other);
    }
  });
}

TEST(FileExchange, FailsOnAllRanksIfOneHasNoFile) {
  OnRanks(3, [](HostTransport& transport) {
    const int own = transport.place().rank == 1 ? -1 : STDIN_FILENO;
    const auto files = ExchangeFiles(transport, own);
    EXPECT_EQ(files.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(files.status().message(), HasSubstr("none"));
  });
}

class TrainByPeers : public TrainOnRanks {
 protected:
  std::shared_ptr<train::GradientExchange> ExchangeOf(
      std::unique_ptr<HostTransport> transport) const override {
    ExchangeOptions options;
    const int64_t rank = transport->place().rank;
    options.join = [rank, importer = std::shared_ptr<FakeImporter>()](
                       HostTransport& ranks, const hal::DevicePtr& device) mutable {
      importer = std::make_shared<FakeImporter>(device, rank);
      return JoinFakes(importer)(ranks, device);
    };
    return MakeGradientExchange(std::move(transport), options);
  }
};

TEST_F(TrainByPeers, TwoAndFourRanksHaveTheCurveOfOneProcess) {
  trainer_.bucket_bytes = 512;
  CompareWithOneProcess(2);
  CompareWithOneProcess(4);
}

TEST_F(TrainByPeers, RanksThatKeepPartsOfTheStateHaveTheCurveOfOneProcess) {
  fit_.steps = 20;
  for (const auto shard :
       {train::Shard::kOptimizer, train::Shard::kGradients, train::Shard::kParameters}) {
    trainer_.shard = shard;
    CompareWithOneProcess(2);
  }
}

}  // namespace
}  // namespace tartan::distributed
