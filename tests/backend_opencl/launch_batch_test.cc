// SPDX-License-Identifier: Apache-2.0
// Launches in a batch give the same results as separate launches.
#include "backend_opencl/launch_batch/launch_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cfenv>
#include <cstring>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backend_opencl/context/opencl_context.h"
#include "backend_opencl/device/opencl_driver.h"
#include "backend_opencl/device/opencl_executable.h"
#include "backend_opencl/launch_batch/launch_batch_source.h"

namespace tartan::opencl::launch_sequence_test {
namespace {

// Returns a kernel with one statement over `work_item`, in the form that codegen writes.
hal::KernelSource Kernel(const std::string& name, const std::string& statement) {
  const std::string text = R"(
static __attribute__((noinline)) void $N_item(__global const float* from, __global float* to,
                                              const int n, const long work_item) { $S }
static __attribute__((noinline)) void $N_items(__global const ulong* arguments, long begin,
                                               long end, long width, long height) {
  for (long i = begin; i < end; ++i) {
    const long x = i % width, y = i / width % height, z = i / width / height;
    $N_item((__global const float*)arguments[0], (__global float*)arguments[1], (int)arguments[2],
            x + 7 * (y + 3 * z));
  }
}
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void $N(__global const float* from, __global float* to, const int n) {
  $N_item(from, to, n, get_global_id(0) + 7 * (get_global_id(1) + 3 * get_global_id(2)));
}
)";
  return {name, absl::StrReplaceAll(text, {{"$N", name}, {"$S", statement}}), true};
}

class LaunchBatchTest : public testing::Test {
 protected:
  void SetUp() override {
    OpenClOptions options;
    options.use_disk_cache = false;
    driver_ = MakeOpenClDriver(options);
    const auto devices = driver_->ListDevices();
    ASSERT_TRUE(devices.ok()) << devices.status();
    device_ = *driver_->Open(devices->front());
    hal::ExecutableSource source;
    source.format = "opencl-c";
    // Each element depends on an element that another work-item wrote in the preceding launch.
    source.kernels = {Kernel("turn", "to[work_item] = from[(work_item + 1) % n] + 1;"),
                      Kernel("scale", "to[work_item] = from[n - 1 - work_item] * 0.5f;"),
                      Kernel("alone", "to[work_item] = from[work_item] - 3;")};
    source.kernels[2].in_launch_batch = false;
    const auto compiled = device_->Compile(source);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    executable_ = *compiled;
  }

  hal::BufferPtr Upload(hal::Queue& queue, const std::vector<float>& values) {
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(float));
    hal::BufferPtr buffer = *device_->Allocate(bytes);
    EXPECT_TRUE(
        queue
            .Write(buffer, 0,
                   {reinterpret_cast<const uint8_t*>(values.data()), static_cast<size_t>(bytes)})
            .ok());
    return buffer;
  }
  std::vector<float> Download(hal::Queue& queue, const hal::BufferPtr& buffer) {
    std::vector<float> values(static_cast<size_t>(buffer->size()) / sizeof(float));
    EXPECT_TRUE(
        queue
            .Read(buffer, 0,
                  {reinterpret_cast<uint8_t*>(values.data()), static_cast<size_t>(buffer->size())})
            .ok());
    EXPECT_TRUE(queue.Finish().ok());
    return values;
  }

  // Returns `count` launches that alternate between the two buffers.
  std::vector<hal::Launch> Launches(const hal::BufferPtr& a, const hal::BufferPtr& b, int count,
                                    bool with_alone) {
    const int64_t n = a->size() / static_cast<int64_t>(sizeof(float));
    std::vector<hal::Launch> launches;
    for (int i = 0; i < count; ++i) {
      hal::Launch& launch = launches.emplace_back();
      launch.entry_point = with_alone && i % 7 == 3 ? 2 : i % 3 == 0 ? 1 : 0;
      launch.arguments = i % 2 == 0 ? std::vector{a, b} : std::vector{b, a};
      launch.numbers = {n};
      launch.number_bytes = 4;
      launch.global_size = {n, 1, 1};
      if (n % 21 == 0) launch.global_size = {7, 3, n / 21};
    }
    return launches;
  }

  static std::vector<float> Expected(std::vector<float> values, int count, bool with_alone) {
    const size_t n = values.size();
    for (int i = 0; i < count; ++i) {
      std::vector<float> next(n);
      for (size_t k = 0; k < n; ++k) {
        next[k] = with_alone && i % 7 == 3 ? values[k] - 3
                  : i % 3 == 0             ? values[n - 1 - k] * 0.5F
                                           : values[(k + 1) % n] + 1;
      }
      values = std::move(next);
    }
    return values;
  }

  static std::vector<float> Values(size_t n) {
    std::vector<float> values(n);
    for (size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i % 37);
    return values;
  }

  std::unique_ptr<hal::Driver> driver_;
  hal::DevicePtr device_;
  hal::ExecutablePtr executable_;
};

TEST_F(LaunchBatchTest, GivesWhatSingleLaunchesGive) {
  const auto queue = *device_->CreateQueue(false);
  for (const size_t n : {1, 2, 7, 63, 64, 1001}) {
    for (const bool with_alone : {false, true}) {
      const hal::BufferPtr a = Upload(*queue, Values(n));
      const hal::BufferPtr b = Upload(*queue, std::vector<float>(n));
      const auto recording = device_->Record(executable_, Launches(a, b, 300, with_alone));
      ASSERT_TRUE(recording.ok()) << recording.status();
      std::vector<float> expected = Values(n);
      for (int replay = 0; replay < 5; ++replay) {
        ASSERT_TRUE(queue->Replay(*recording).ok());
        expected = Expected(std::move(expected), 300, with_alone);
      }
      EXPECT_EQ(Download(*queue, a), expected) << n << " elements";
    }
  }
}

TEST_F(LaunchBatchTest, TakesPartsOfBuffersAndOneLaunch) {
  const auto queue = *device_->CreateQueue(false);
  const int64_t half = device_->info().buffer_alignment;
  const size_t n = static_cast<size_t>(half) / sizeof(float);
  const hal::BufferPtr whole = Upload(*queue, Values(2 * n));
  const hal::BufferPtr first = *device_->SubBuffer(whole, 0, half);
  const hal::BufferPtr second = *device_->SubBuffer(whole, half, half);
  const auto recording = device_->Record(executable_, Launches(first, second, 1, false));
  ASSERT_TRUE(recording.ok()) << recording.status();
  ASSERT_TRUE(queue->Replay(*recording).ok());
  const std::vector<float> values = Values(n);
  std::vector<float> expected = values;
  for (size_t i = 0; i < n; ++i) expected.push_back(values[n - 1 - i] * 0.5F);
  EXPECT_EQ(Download(*queue, whole), expected);
}

TEST_F(LaunchBatchTest, TellsTheTimeOfEachLaunch) {
  const auto queue = *device_->CreateQueue(true);
  const hal::BufferPtr a = Upload(*queue, Values(100));
  const hal::BufferPtr b = Upload(*queue, Values(100));
  const auto recording = device_->Record(executable_, Launches(a, b, 20, true));
  ASSERT_TRUE(recording.ok()) << recording.status();
  std::vector<hal::EventPtr> events;
  ASSERT_TRUE(queue->Replay(*recording, &events).ok());
  EXPECT_EQ(Download(*queue, a), Expected(Values(100), 20, true));
  ASSERT_EQ(events.size(), 20U);
  int64_t before = 0;
  for (const hal::EventPtr& event : events) {
    const auto timing = event->GetTiming();
    ASSERT_TRUE(timing.ok()) << timing.status();
    EXPECT_GE(timing->start_ns, before);
    EXPECT_GE(timing->end_ns, timing->start_ns);
    before = timing->start_ns;
  }
}

// Copies of full blocks and remainders at unaligned offsets.
TEST_F(LaunchBatchTest, CopiesBetweenLaunches) {
  const auto queue = *device_->CreateQueue(false);
  for (const int64_t bytes : {1, 7, 64, 4095, 4096, 4097, 40003}) {
    const auto n = static_cast<size_t>(bytes) / sizeof(float) + 3;
    const std::vector<float> values = Values(n);
    const hal::BufferPtr a = Upload(*queue, values);
    const hal::BufferPtr b = Upload(*queue, std::vector<float>(n));
    const hal::BufferPtr c = Upload(*queue, std::vector<float>(n));
    std::vector<hal::Launch> launches = Launches(a, b, 2, false);
    launches.insert(launches.begin() + 1, hal::Launch::Copy(b, 1, c, 3, bytes));
    const auto recording = device_->Record(executable_, launches);
    ASSERT_TRUE(recording.ok()) << recording.status();
    ASSERT_TRUE(queue->Replay(*recording).ok());
    const std::vector<float> between = Expected(values, 1, false);
    std::vector<float> copied(n);
    std::memcpy(reinterpret_cast<char*>(copied.data()) + 3,
                reinterpret_cast<const char*>(between.data()) + 1, static_cast<size_t>(bytes));
    EXPECT_EQ(Download(*queue, c), copied) << bytes << " bytes";
    EXPECT_EQ(Download(*queue, a), Expected(values, 2, false));
  }
}

// A waiting host thread executes the batch, sometimes with the device's threads; the next
// executions may be enqueued.
TEST_F(LaunchBatchTest, MayBeRunByTheHost) {
  for (const size_t n : {1, 63, 1001, 20000}) {
    const auto queue = *device_->CreateQueue(false);
    const hal::BufferPtr a = Upload(*queue, std::vector<float>(n));
    const hal::BufferPtr b = Upload(*queue, std::vector<float>(n));
    const auto recording = device_->Record(executable_, Launches(a, b, 40, false));
    ASSERT_TRUE(recording.ok()) << recording.status();
    std::vector<float> expected = Values(n);
    std::vector<float> values = expected;
    for (int replay = 0; replay < 150; ++replay) {
      const size_t bytes = n * sizeof(float);
      ASSERT_TRUE(
          queue->WriteAsync(a, 0, {reinterpret_cast<const uint8_t*>(values.data()), bytes}).ok());
      ASSERT_TRUE(queue->Replay(*recording).ok());
      ASSERT_TRUE(queue->Replay(*recording).ok());
      std::vector<float> result(n);
      ASSERT_TRUE(queue->ReadAsync(a, 0, {reinterpret_cast<uint8_t*>(result.data()), bytes}).ok());
      if (replay % 7 == 5) {
        ASSERT_TRUE(queue->Flush().ok());
      } else if (replay % 7 == 6) {
        const auto mark = queue->Mark();
        ASSERT_TRUE(mark.ok()) << mark.status();
        ASSERT_TRUE((*mark)->Wait().ok());
      }
      ASSERT_TRUE(queue->Finish().ok());
      expected = Expected(Expected(std::move(expected), 40, false), 40, false);
      ASSERT_EQ(result, expected) << n << " elements, run " << replay;
      values = result;
    }
    EXPECT_EQ(Download(*queue, a), expected);
  }
}

TEST_F(LaunchBatchTest, IsRunByTheHostWherePoclCompilesForX86) {
#if !defined(__x86_64__) || !defined(__linux__)
  GTEST_SKIP() << "an address is asked for on x86-64 alone";
#endif
  const auto queue = *device_->CreateQueue(false);
  const hal::BufferPtr a = Upload(*queue, Values(9));
  const hal::BufferPtr b = Upload(*queue, Values(9));
  if (!ContextOf(device_).quirks().batches_launches ||
      device_->info().type != hal::DeviceType::kCpu) {
    GTEST_SKIP() << "a driver without sequences of items";
  }
  const auto recording = device_->Record(executable_, Launches(a, b, 3, false));
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_TRUE(static_cast<const OpenClRecording&>(**recording).may_run_on_host());
  const auto other = device_->Record(executable_, Launches(a, b, 5, true));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_FALSE(static_cast<const OpenClRecording&>(**other).may_run_on_host());
}

TEST_F(LaunchBatchTest, RoundsAsTheDeviceDoesInAnyThread) {
  const auto queue = *device_->CreateQueue(false);
  std::vector<float> values(500);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0F / static_cast<float>(i + 3);
  const hal::BufferPtr a = Upload(*queue, values);
  const hal::BufferPtr b = Upload(*queue, values);
  const auto recording = device_->Record(executable_, Launches(a, b, 20, false));
  ASSERT_TRUE(recording.ok()) << recording.status();
  ASSERT_TRUE(queue->Finish().ok());
  const std::vector<float> expected = Expected(values, 20, false);
  std::fesetround(FE_UPWARD);
  const absl::Status replayed = queue->Replay(*recording);
  const absl::Status finished = queue->Finish();
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_TRUE(replayed.ok() && finished.ok());
  EXPECT_EQ(after, FE_UPWARD);
  EXPECT_EQ(Download(*queue, a), expected);
}

TEST_F(LaunchBatchTest, GoesOnAfterARunOfWhichAPartFailed) {
  const auto queue = *device_->CreateQueue(false);
  const hal::BufferPtr a = Upload(*queue, Values(100));
  const hal::BufferPtr b = Upload(*queue, Values(100));
  const auto recording = device_->Record(executable_, Launches(a, b, 20, false));
  ASSERT_TRUE(recording.ok()) << recording.status();
  const auto& work = static_cast<const OpenClRecording&>(**recording).work();
  const auto* sequence = std::get_if<std::unique_ptr<LaunchBatch>>(&work[0]);
  if (sequence == nullptr) GTEST_SKIP() << "a driver without sequences";
  std::vector<float> expected = Values(100);
  for (int replay = 0; replay < 9; ++replay) {
    if (replay % 3 == 2) {
      EXPECT_NE((*sequence)->Enqueue(nullptr, 3, 4, nullptr), CL_SUCCESS);
    }
    ASSERT_TRUE(queue->Replay(*recording).ok());
    if (replay % 2 == 0) {
      ASSERT_TRUE(queue->Flush().ok());
    }
    ASSERT_TRUE(queue->Finish().ok());
    expected = Expected(std::move(expected), 20, false);
  }
  EXPECT_EQ(Download(*queue, a), expected);
}

#ifdef __linux__
// A waiting thread yields its processor to the threads that it waits for.
TEST_F(LaunchBatchTest, GoesOnWhereAllThreadsShareAProcessor) {
  const auto queue = *device_->CreateQueue(false);
  const hal::BufferPtr a = Upload(*queue, Values(63));
  const hal::BufferPtr b = Upload(*queue, std::vector<float>(63));
  const auto recording = device_->Record(executable_, Launches(a, b, 300, false));
  ASSERT_TRUE(recording.ok()) << recording.status();
  ASSERT_TRUE(queue->Replay(*recording).ok());
  ASSERT_TRUE(queue->Finish().ok());  // starts the driver's threads
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int c = 0; c < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++c) {
    if (CPU_ISSET(c, &before)) CPU_SET(c, &one);
  }
  const auto pin = [](const cpu_set_t& set) {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      sched_setaffinity(std::stoi(task.path().filename().string()), sizeof(set), &set);
    }
  };
  pin(one);
  std::vector<float> expected = Expected(Values(63), 300, false);
  for (int replay = 0; replay < 20; ++replay) {
    ASSERT_TRUE(queue->Replay(*recording).ok());
    expected = Expected(std::move(expected), 300, false);
  }
  EXPECT_EQ(Download(*queue, a), expected);
  pin(before);
}
#endif

// Runs more queues than there are threads.
TEST_F(LaunchBatchTest, RunsInSeveralQueuesAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results(6);
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      const auto queue = *device_->CreateQueue(false);
      const hal::BufferPtr a = Upload(*queue, Values(50 + t));
      const hal::BufferPtr b = Upload(*queue, Values(50 + t));
      const auto recording = device_->Record(executable_, Launches(a, b, 200, t % 2 == 0));
      for (int replay = 0; recording.ok() && replay < 10; ++replay) {
        if (!queue->Replay(*recording).ok()) return;
      }
      results[t] = Download(*queue, a);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < results.size(); ++t) {
    std::vector<float> expected = Values(50 + t);
    for (int replay = 0; replay < 10; ++replay)
      expected = Expected(std::move(expected), 200, t % 2 == 0);
    EXPECT_EQ(results[t], expected) << "thread " << t;
  }
}

TEST(LaunchBatchSource, NumbersTheKernelsThatAreInIt) {
  std::vector<hal::KernelSource> kernels = {Kernel("a", ""), Kernel("b", ""), Kernel("c", "")};
  kernels[1].in_launch_batch = false;
  const std::string text = LaunchBatchSource(kernels);
  EXPECT_THAT(text, testing::HasSubstr("case 0: a_items("));
  EXPECT_THAT(text, testing::HasSubstr("case 1: c_items("));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("b_items(")));
  EXPECT_EQ(EntryPointCount(kernels), 2);
  kernels[0].in_launch_batch = kernels[2].in_launch_batch = false;
  EXPECT_EQ(LaunchBatchSource(kernels), "");
  EXPECT_EQ(EntryPointCount(kernels), 3);
}

}  // namespace
}  // namespace tartan::opencl::launch_sequence_test
