// SPDX-License-Identifier: Apache-2.0
// The part of the conformance suite that compiles and runs kernels.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "tests/hal/conformance.h"
#include "tests/hal/conformance_support.h"

namespace tartan::hal {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_P(Conformance, RefusesSourcesItCannotCompile) {
  ExecutableSource source;
  source.format = GetParam().format;
  EXPECT_INVALID(device_->Compile(source));
  source.kernels = {GetParam().add_one};
  source.format = "no such format";
  EXPECT_INVALID(device_->Compile(source));
}

TEST_P(Conformance, ReportsAFailedBuildWithTheDriversLog) {
  ExecutableSource source;
  source.format = GetParam().format;
  source.kernels = {GetParam().add_one, GetParam().broken};
  const auto executable = device_->Compile(source);
  EXPECT_EQ(CodeOf(executable), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(executable.status().message()), HasSubstr(GetParam().broken_message));
}

TEST_P(Conformance, NamesItsEntryPointsInOrder) {
  const ExecutablePtr executable = Compile();
  ASSERT_EQ(executable->entry_points().size(), 2u);
  EXPECT_EQ(executable->entry_points()[0].name, GetParam().add_one.name);
  EXPECT_EQ(executable->entry_points()[1].name, GetParam().scale.name);
  const CompileStatistics& statistics = executable->statistics();
  EXPECT_EQ(statistics.cache_hits + statistics.cache_misses, 1);
}

TEST_P(Conformance, RefusesLaunchesOfKernelsThatAreNotThereOrTooLarge) {
  const auto queue = CreateQueue();
  const ExecutablePtr executable = Compile();
  const BufferPtr buffer = Upload(*queue, {1, 2, 3, 4});
  const auto refused = [&](auto change) {
    Launch launch = AddOne(buffer);
    change(launch);
    EXPECT_INVALID(queue->Run(executable, launch));
    EXPECT_INVALID(device_->Record(executable, {AddOne(buffer), launch}));
  };
  refused([](Launch& launch) { launch.entry_point = 2; });
  refused([](Launch& launch) { launch.entry_point = -1; });
  refused([](Launch& launch) { launch.global_size = {0, 1, 1}; });
  refused([](Launch& launch) { launch.local_size = {3, 1, 1}; });
  refused([](Launch& launch) { launch.local_size = {1, 0, 1}; });
  refused([](Launch& launch) { launch.local_size = launch.global_size = {1 << 20, 1 << 20, 1}; });
  EXPECT_OK(queue->Finish());
  EXPECT_THAT(Download(*queue, buffer), ElementsAre(1, 2, 3, 4));
}

TEST_P(Conformance, RefusesLaunchesThatDoNotFitTheKernel) {
  const auto queue = CreateQueue();
  const ExecutablePtr executable = Compile();
  const BufferPtr buffer = Upload(*queue, {1, 2, 3, 4});
  Launch launch = AddOne(buffer);
  launch.arguments.push_back(buffer);
  EXPECT_INVALID(queue->Run(executable, launch));
  launch.arguments.clear();
  EXPECT_INVALID(queue->Run(executable, launch));
  launch = Scale(buffer, Allocate(16));
  launch.local_size = {2, 1, 1};
  EXPECT_INVALID(queue->Run(executable, launch));
}

TEST_P(Conformance, RefusesNumbersThatDoNotFitTheKernel) {
  const auto queue = CreateQueue();
  const ExecutablePtr executable = Compile();
  const BufferPtr buffer = Upload(*queue, {1, 2, 3, 4});
  Launch launch = AddOne(buffer);
  launch.numbers = {int64_t{1} << 31};
  launch.number_bytes = 4;
  EXPECT_INVALID(queue->Run(executable, launch));
  launch.numbers = {7};
  launch.number_bytes = 2;
  EXPECT_INVALID(queue->Run(executable, launch));
}

TEST_P(Conformance, KernelsComputeInTheOrderOfTheQueue) {
  const auto queue = CreateQueue();
  const ExecutablePtr executable = Compile();
  const BufferPtr from = Upload(*queue, {1, 2, 3, 4});
  const BufferPtr to = Allocate(16);
  ASSERT_TRUE(queue->Run(executable, AddOne(from)).ok());
  ASSERT_TRUE(queue->Run(executable, Scale(from, to)).ok());
  EXPECT_OK(queue->Copy(to, 0, from, 0, 8));
  EXPECT_OK(queue->Finish());
  EXPECT_THAT(Download(*queue, to), ElementsAre(4, 6, 8, 10));
  EXPECT_THAT(Download(*queue, from), ElementsAre(4, 6, 4, 5));
}

TEST_P(Conformance, KernelsReadAndWriteParts) {
  const auto queue = CreateQueue();
  const ExecutablePtr executable = Compile();
  const int64_t alignment = std::max<int64_t>(device_->info().buffer_alignment, 16);
  const BufferPtr arena = Allocate(2 * alignment);
  const BufferPtr from = *device_->SubBuffer(arena, 0, 16);
  const BufferPtr to = *device_->SubBuffer(arena, alignment, 16);
  EXPECT_OK(queue->Write(from, 0, Bytes({1, 2, 3, 4})));
  ASSERT_TRUE(queue->Run(executable, Scale(from, to)).ok());
  EXPECT_THAT(Download(*queue, to), ElementsAre(2, 4, 6, 8));
}

TEST_P(Conformance, ReplaysARecordingAgainAndAgain) {
  const auto queue = CreateQueue();
  const ExecutablePtr executable = Compile();
  const BufferPtr buffer = Upload(*queue, {0, 10});
  const auto recording = device_->Record(executable, {AddOne(buffer), AddOne(buffer)});
  ASSERT_TRUE(recording.ok()) << recording.status();
  for (int i = 0; i < 5; ++i) EXPECT_OK(queue->Replay(*recording));
  EXPECT_THAT(Download(*queue, buffer), ElementsAre(10, 20));
}

TEST_P(Conformance, CopiesBetweenRecordedLaunches) {
  const auto queue = CreateQueue();
  const ExecutablePtr executable = Compile();
  const BufferPtr from = Upload(*queue, {1, 2, 3, 4});
  const BufferPtr to = Upload(*queue, {0, 0, 0, 0, 0});
  const auto recording = device_->Record(
      executable, {Launch::Copy(from, 4, to, 8, 8), AddOne(from), Launch::Copy(from, 0, to, 0, 4)});
  ASSERT_TRUE(recording.ok()) << recording.status();
  for (int i = 0; i < 2; ++i) EXPECT_OK(queue->Replay(*recording));
  EXPECT_THAT(Download(*queue, to), ElementsAre(3, 0, 3, 4, 0));
}

TEST_P(Conformance, ReplaysCopies) {
  const auto queue = CreateQueue();
  const BufferPtr from = Upload(*queue, {1, 2, 3, 4});
  const BufferPtr to = Upload(*queue, {0, 0, 0, 0, 0});
  const auto recording =
      device_->Record(Compile(), {Launch::Copy(from, 4, to, 8, 8), Launch::Copy(to, 8, to, 0, 4)});
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_OK(queue->Replay(*recording));
  EXPECT_THAT(Download(*queue, to), ElementsAre(2, 0, 2, 3, 0));
}

TEST_P(Conformance, RefusesCopiesOutsideABuffer) {
  const ExecutablePtr executable = Compile();
  const BufferPtr small = Allocate(16);
  const BufferPtr large = Allocate(64);
  EXPECT_INVALID(device_->Record(executable, {Launch::Copy(large, 0, small, 0, 17)}));
  EXPECT_INVALID(device_->Record(executable, {Launch::Copy(small, 8, large, 0, 9)}));
  EXPECT_INVALID(device_->Record(executable, {Launch::Copy(small, -4, large, 0, 4)}));
  EXPECT_INVALID(device_->Record(executable, {Launch::Copy(small, 0, large, 0, 0)}));
  EXPECT_INVALID(device_->Record(executable, {Launch::Copy(small, 0, nullptr, 0, 4)}));
}

// An event of Mark is reached once all earlier work is done, regardless of later work.
TEST_P(Conformance, APointInAQueueIsReachedBeforeTheQueueIsFinished) {
  const auto queue = CreateQueue();
  const BufferPtr buffer = Upload(*queue, {1, 2});
  std::vector<float> first(2), second(2);
  EXPECT_OK(queue->ReadAsync(buffer, 0, MutableBytes(first)));
  const auto point = queue->Mark();
  ASSERT_TRUE(point.ok()) << point.status();
  EXPECT_OK(queue->Write(buffer, 0, Bytes({5, 6})));
  EXPECT_OK(queue->ReadAsync(buffer, 0, MutableBytes(second)));
  EXPECT_OK((*point)->Wait());
  EXPECT_THAT(first, ElementsAre(1, 2));
  EXPECT_OK(queue->Finish());
  EXPECT_THAT(second, ElementsAre(5, 6));
}

TEST_P(Conformance, ARecordingKeepsWhatItUsesAlive) {
  const auto queue = CreateQueue();
  RecordingPtr recording = *device_->Record(Compile(), {AddOne(Allocate(4096))});
  EXPECT_EQ(device_->statistics().allocated_bytes, 4096);
  EXPECT_OK(queue->Replay(recording));
  EXPECT_OK(queue->Finish());
  recording.reset();
  EXPECT_EQ(device_->statistics().allocated_bytes, 0);
}

TEST_P(Conformance, AQueueKeepsWhatItUsesAliveUntilTheWorkIsDone) {
  const auto queue = CreateQueue();
  const BufferPtr result = Allocate(4 * 100'000);
  {
    const ExecutablePtr executable = Compile();
    const BufferPtr temporary = Upload(*queue, std::vector<float>(100'000, 1.0f));
    ASSERT_TRUE(queue->Run(executable, AddOne(temporary)).ok());
    ASSERT_TRUE(queue->Run(executable, Scale(temporary, result)).ok());
  }
  // Memory that was released too early would be reused here.
  const BufferPtr other = Allocate(4 * 100'000);
  EXPECT_OK(CreateQueue()->Write(other, 0, Bytes(std::vector<float>(100'000, -1.0f))));
  EXPECT_THAT(Download(*queue, result), Each(4.0f));
  EXPECT_OK(queue->Finish());
  EXPECT_EQ(device_->statistics().allocated_bytes, 2 * 4 * 100'000);
}

TEST_P(Conformance, WhatWasMadeKeepsTheDeviceAlive) {
  auto queue = CreateQueue();
  const BufferPtr buffer = Upload(*queue, {1, 2});
  device_.reset();
  driver_.reset();
  EXPECT_THAT(Download(*queue, buffer), ElementsAre(1, 2));
}

TEST_P(Conformance, EventsOfAProfilingQueueTellTimesInOrder) {
  const auto queue = CreateQueue(/*profiling=*/true);
  const BufferPtr buffer = Upload(*queue, std::vector<float>(1000));
  const auto recording = *device_->Record(Compile(), {AddOne(buffer), AddOne(buffer)});
  std::vector<EventPtr> events;
  EXPECT_OK(queue->Replay(recording, &events));
  ASSERT_EQ(events.size(), 2u);
  const Timing first = *events[0]->GetTiming();
  const Timing second = *events[1]->GetTiming();
  EXPECT_GT(first.start_ns, 0);
  EXPECT_LE(first.start_ns, first.end_ns);
  EXPECT_LE(first.end_ns, second.end_ns);
}

TEST_P(Conformance, EventsWithoutProfilingTellNoTimes) {
  const auto queue = CreateQueue();
  const auto event = queue->Run(Compile(), AddOne(Allocate(16)));
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_OK((*event)->Wait());
  EXPECT_EQ((*event)->GetTiming()->end_ns, 0);
}

TEST_P(Conformance, TakesManyLaunchesWithoutWaiting) {
  constexpr int kLaunches = 20'000;
  const auto queue = CreateQueue();
  const ExecutablePtr executable = Compile();
  const BufferPtr buffer = Upload(*queue, {0});
  for (int i = 0; i < kLaunches / 2; ++i) {
    ASSERT_TRUE(queue->Run(executable, AddOne(buffer)).ok());
  }
  const auto recording = *device_->Record(executable, {AddOne(buffer)});
  for (int i = 0; i < kLaunches / 2; ++i) EXPECT_OK(queue->Replay(recording));
  EXPECT_OK(queue->Finish());
  EXPECT_THAT(Download(*queue, buffer), ElementsAre(kLaunches));
}

TEST_P(Conformance, ADroppedQueueFinishesItsWork) {
  const BufferPtr buffer = Upload(*CreateQueue(), {1, 2});
  const ExecutablePtr executable = Compile();
  ASSERT_TRUE(CreateQueue()->Run(executable, AddOne(buffer)).ok());
  EXPECT_THAT(Download(*CreateQueue(), buffer), ElementsAre(2, 3));
}

TEST_P(Conformance, ServesSeveralThreadsAtOnce) {
  const ExecutablePtr executable = Compile();
  std::vector<float> results(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      const auto queue = CreateQueue();
      const BufferPtr buffer = Upload(*queue, {static_cast<float>(t)});
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(queue->Run(executable, AddOne(buffer)).ok());
      results[t] = Download(*queue, buffer)[0];
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(results, ElementsAre(100, 101, 102, 103));
  EXPECT_EQ(device_->statistics().allocated_bytes, 0);
}

}  // namespace tartan::hal
