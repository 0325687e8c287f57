// SPDX-License-Identifier: Apache-2.0
// Launches in a persistent kernel give the same results as separate launches. Also runs on drivers
// without persistent kernels, where a team is a whole work-group.
#include "backend_opencl/launch_batch/megakernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backend_opencl/context/build_program.h"
#include "backend_opencl/context/opencl_context.h"
#include "backend_opencl/device/opencl_driver.h"
#include "backend_opencl/dialect/team_barrier.h"
#include "backend_opencl/launch_batch/megakernel_source.h"
#include "tile/base/launch_batch_limits.h"

namespace tartan::opencl::group_sequence_test {
namespace {

// Returns a kernel with one statement over `i`, in the form that codegen writes, for teams of
// `team` work-items. `early` is a statement that may run before the preceding launch is complete.
hal::KernelSource Kernel(const std::string& name, int team, const std::string& statement,
                         int local = 0, const std::string& early = "") {
  const std::string text = R"(
enum { $N_team = $T, $N_local = $L, $N_align = 64, $N_early = $E };
static void $N_group(__global const float* from, __global float* to, const int n,
                     __local uchar* pool, const int phase, const int work_team, const int item,
                     const int x, const int y, const int z) {
  __local float* const shared = (__local float*)pool;
  const int i = (x + 5 * (y + 3 * z)) * $T + item;
  if (phase != 2) {
    $F
  }
  if (phase == 1) return;
  $S
}
static void $N_groups(__local const ulong* arguments, __local uchar* pool, int phase, int work_team, int item,
                      int group, int end, int step, int width, int height) {
  for (; group < end; group += step) {
    $N_group((__global const float*)arguments[0], (__global float*)arguments[1], (int)arguments[2],
             pool, phase, work_team, item, group % width, group / width % height,
             group / width / height);
    if (phase == 1) return;
    phase = 0;
    $W
  }
}
)";
  return {name,
          absl::StrReplaceAll(text, {{"$N", name},
                                     {"$T", absl::StrCat(team)},
                                     {"$L", absl::StrCat(local)},
                                     {"$E", early.empty() ? "0" : "1"},
                                     {"$F", early},
                                     {"$S", statement},
                                     {"$W", local == 0 ? "" : TeamBarrier(team)}}),
          true};
}

constexpr char kTurn[] = "if (i < n) to[i] = from[(i + 1) % n] + 1;";
constexpr char kScale[] = "if (i < n) to[i] = from[n - 1 - i] * 0.5f;";
// Each work-item reads a value that another work-item of its work-group wrote.
std::string Swap(int team) {
  return absl::StrReplaceAll(
      "shared[item] = i < n ? from[i] : 0; $B if (i < n) to[i] = shared[item ^ 1];",
      {{"$B", TeamBarrier(team)}});
}

// Returns a weight-stationary kernel with one work-group. Each launch adds to its elements the copy
// of `add` that the work-group kept from the first launch. The last element gets the number of
// preceding launches in the same call.
hal::KernelSource RunKernel(const std::string& name) {
  const std::string text = R"(
enum { $N_team = 256, $N_local = 1024, $N_align = 64, $N_early = 0 };
static void $N_groups(__local ulong* arguments, __local uchar* pool, int phase, int work_team, int item,
                      int group, int end, int step, int width, int height,
                      __global const ulong* next, int stride, int launches) {
  __local float* const kept = (__local float*)pool;
  kept[item] = ((__global const float*)arguments[2])[item];
  for (int launch = 1; launch <= launches; ++launch) {
    const int has_next = launch < launches && item < 3;
    const ulong ahead = has_next ? next[item] : 0;
    __global const float* from = (__global const float*)arguments[0];
    __global float* to = (__global float*)arguments[1];
    if (item < 255) to[item] = from[(item + 1) % 255] + kept[item];
    if (item == 255) to[item] = launch;
    $B
    if (has_next) arguments[item] = ahead;
    next += stride;
    $B
  }
}
)";
  return {name, absl::StrReplaceAll(text, {{"$N", name}, {"$B", TeamBarrier(256)}}), true, {2}};
}

class MegakernelTest : public testing::Test {
 protected:
  void SetUp() override {
    OpenClOptions options;
    options.use_disk_cache = false;
    driver_ = MakeOpenClDriver(options);
    const auto devices = driver_->ListDevices();
    ASSERT_TRUE(devices.ok()) << devices.status();
    device_ = *driver_->Open(hal::PreferredDevice(*devices));
    hal_queue_ = *device_->CreateQueue(false);
    queue_ = NewQueue();
  }

  OpenClContext& Context() { return ContextOf(device_); }
  // True if teams have separate barriers.
  bool HasTeamBarriers() { return absl::StrContains(Context().build_options(), "TARTAN_PTX"); }
  int64_t Units() { return Context().info().settings.compute_units; }

  QueueHandle NewQueue() {
    cl_int error = CL_SUCCESS;
    return QueueHandle(CreateCl(&error, clCreateCommandQueue, Context().context(), Context().id(),
                                cl_command_queue_properties{0}));
  }

  void Build(const std::vector<hal::KernelSource>& kernels) {
    std::string text = TeamBarrierDefinition();
    teams_.clear();
    cases_.clear();
    kept_.clear();
    for (const hal::KernelSource& kernel : kernels) {
      absl::StrAppend(&text, kernel.source);
      cases_.push_back(static_cast<int>(cases_.size()));
      kept_.push_back(kernel.kept);
      teams_.push_back(std::stoi(kernel.source.substr(kernel.source.find("_team = ") + 8)));
    }
    absl::StrAppend(&text, MegakernelSource(kernels, kMaxBatchLocalBytes));
    auto built = BuildFromSource(Context(), text, absl::StrCat(Context().build_options(), "-w"));
    ASSERT_TRUE(built.ok()) << built.status();
    program_ = *std::move(built);
  }

  hal::BufferPtr Upload(const std::vector<float>& values) {
    const size_t bytes = values.size() * sizeof(float);
    hal::BufferPtr buffer = *device_->Allocate(static_cast<int64_t>(bytes));
    const auto* begin = reinterpret_cast<const uint8_t*>(values.data());
    EXPECT_TRUE(hal_queue_->Write(buffer, 0, {begin, bytes}).ok());
    EXPECT_TRUE(hal_queue_->Finish().ok());
    return buffer;
  }
  std::vector<float> Download(const hal::BufferPtr& buffer) {
    std::vector<float> values(static_cast<size_t>(buffer->size()) / sizeof(float));
    auto* begin = reinterpret_cast<uint8_t*>(values.data());
    EXPECT_TRUE(hal_queue_->Read(buffer, 0, {begin, values.size() * sizeof(float)}).ok());
    return values;
  }

  hal::Launch Launch(int kernel, const hal::BufferPtr& from, const hal::BufferPtr& to) {
    const int64_t n = to->size() / static_cast<int64_t>(sizeof(float));
    const int64_t groups = (n + teams_[kernel] - 1) / teams_[kernel];
    hal::Launch launch;
    launch.entry_point = kernel;
    launch.arguments = {from, to};
    launch.numbers = {n};
    launch.local_size = {teams_[kernel], 1, 1};
    launch.global_size = {groups * teams_[kernel], 1, 1};
    if (groups > 15) launch.global_size = {5 * teams_[kernel], 3, (groups + 14) / 15};
    return launch;
  }

  std::unique_ptr<Megakernel> Sequence(const std::vector<hal::Launch>& launches, int64_t groups) {
    auto made = Megakernel::Create(Context(), program_.get(), cases_, kept_, launches, groups);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  // Returns `count` launches that alternate between the two buffers.
  std::vector<hal::Launch> Launches(const hal::BufferPtr& a, const hal::BufferPtr& b, int count) {
    std::vector<hal::Launch> launches;
    for (int i = 0; i < count; ++i) {
      launches.push_back(Launch(i % 3 == 0 ? 1 : 0, i % 2 == 0 ? a : b, i % 2 == 0 ? b : a));
    }
    return launches;
  }
  static std::vector<float> Expected(std::vector<float> values, int count) {
    const size_t n = values.size();
    for (int i = 0; i < count; ++i) {
      std::vector<float> next(n);
      for (size_t k = 0; k < n; ++k) {
        next[k] = i % 3 == 0 ? values[n - 1 - k] * 0.5F : values[(k + 1) % n] + 1;
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

  // Expects that three replays of `count` launches as one give the same `a` as separate launches.
  void ExpectReplays(const hal::BufferPtr& a, const hal::BufferPtr& b, int count, int64_t groups) {
    SCOPED_TRACE(absl::StrCat(a->size(), " bytes, ", groups, " groups"));
    const auto sequence = Sequence(Launches(a, b, count), groups);
    std::vector<float> expected = Download(a);
    for (int replay = 0; replay < 3; ++replay) {
      ASSERT_EQ(sequence->Enqueue(queue_.get(), 0, count, nullptr), CL_SUCCESS);
      expected = Expected(std::move(expected), count);
    }
    ASSERT_EQ(clFinish(queue_.get()), CL_SUCCESS);
    EXPECT_EQ(Download(a), expected);
  }

  std::unique_ptr<hal::Driver> driver_;
  hal::DevicePtr device_;
  std::unique_ptr<hal::Queue> hal_queue_;
  QueueHandle queue_;
  ProgramHandle program_;
  std::vector<int> teams_, cases_;
  std::vector<std::vector<int>> kept_;
};

TEST_F(MegakernelTest, GivesWhatSingleLaunchesGive) {
  Build({Kernel("turn", 8, kTurn), Kernel("scale", 96, kScale)});
  for (const size_t n : {1, 7, 64, 1001, 30000}) {
    const hal::BufferPtr a = Upload(Values(n));
    const hal::BufferPtr b = Upload(std::vector<float>(n));
    ExpectReplays(a, b, 60, Units());
  }
}

// If not all work-groups fit, the first starts without the others, which join later or find no
// work.
TEST_F(MegakernelTest, DependsOnNoGroupThatDoesNotRun) {
  Build({Kernel("turn", 8, kTurn), Kernel("scale", 32, kScale)});
  const hal::BufferPtr a = Upload(Values(5000));
  const hal::BufferPtr b = Upload(std::vector<float>(5000));
  for (const int64_t groups : {int64_t{1}, 2 * Units(), 16 * Units()}) {
    ExpectReplays(a, b, 20, groups);
  }
}

// The early phase of a kernel runs while the preceding launch is active, also in work-groups
// without a share of it. It does not run while work-groups are missing.
TEST_F(MegakernelTest, BeginsWithWhatIsEarly) {
  const std::string turn = "if (i < n) to[i] = from[(i + 1) % n] + shared[item];";
  const int team = HasTeamBarriers() ? 32 : 256;
  Build({Kernel("turn", team, turn, 4 * 256, "shared[item] = 1;"), Kernel("scale", 96, kScale)});
  for (const size_t n : {7, 500, 30000}) {
    for (const int64_t groups : {int64_t{1}, Units(), 16 * Units()}) {
      const hal::BufferPtr a = Upload(Values(n));
      const hal::BufferPtr b = Upload(std::vector<float>(n));
      ExpectReplays(a, b, 40, groups);
    }
  }
}

TEST_F(MegakernelTest, RunsBesideAnother) {
  Build({Kernel("turn", 8, kTurn), Kernel("scale", 32, kScale)});
  const QueueHandle other = NewQueue();
  const hal::BufferPtr memory[] = {Upload(Values(3000)), Upload(Values(3000)), Upload(Values(3000)),
                                   Upload(Values(3000))};
  const auto first = Sequence(Launches(memory[0], memory[1], 50), 4 * Units());
  const auto second = Sequence(Launches(memory[2], memory[3], 50), 4 * Units());
  std::vector<float> expected = Values(3000);
  for (int replay = 0; replay < 5; ++replay) {
    ASSERT_EQ(first->Enqueue(queue_.get(), 0, 50, nullptr), CL_SUCCESS);
    ASSERT_EQ(second->Enqueue(other.get(), 0, 50, nullptr), CL_SUCCESS);
    ASSERT_EQ(clFlush(queue_.get()), CL_SUCCESS);
    ASSERT_EQ(clFlush(other.get()), CL_SUCCESS);
    expected = Expected(std::move(expected), 50);
  }
  ASSERT_EQ(clFinish(queue_.get()), CL_SUCCESS);
  ASSERT_EQ(clFinish(other.get()), CL_SUCCESS);
  EXPECT_EQ(Download(memory[0]), expected);
  EXPECT_EQ(Download(memory[2]), expected);
}

TEST_F(MegakernelTest, RunsLaunchesOneByOne) {
  Build({Kernel("turn", 8, kTurn), Kernel("scale", 32, kScale)});
  const hal::BufferPtr a = Upload(Values(777));
  const hal::BufferPtr b = Upload(std::vector<float>(777));
  const auto sequence = Sequence(Launches(a, b, 20), Units());
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(sequence->Enqueue(queue_.get(), i, i + 1, nullptr), CL_SUCCESS);
  }
  ASSERT_EQ(sequence->Enqueue(queue_.get(), 10, 20, nullptr), CL_SUCCESS);
  ASSERT_EQ(clFinish(queue_.get()), CL_SUCCESS);
  EXPECT_EQ(Download(a), Expected(Values(777), 20));
}

TEST_F(MegakernelTest, CopiesBetweenLaunches) {
  Build({Kernel("turn", 8, kTurn), Kernel("scale", 32, kScale)});
  for (const auto& [bytes, from, to] :
       {std::array<int64_t, 3>{1, 0, 0}, {7, 1, 3}, {4096, 16, 32}, {4100, 4, 8}, {40003, 0, 1}}) {
    const auto n = static_cast<size_t>(bytes) / sizeof(float) + 16;
    const hal::BufferPtr a = Upload(Values(n));
    const hal::BufferPtr b = Upload(std::vector<float>(n));
    const hal::BufferPtr c = Upload(std::vector<float>(n));
    std::vector<hal::Launch> launches = Launches(a, b, 2);
    launches.insert(launches.begin() + 1, hal::Launch::Copy(b, from, c, to, bytes));
    const auto sequence = Sequence(launches, Units());
    ASSERT_EQ(sequence->Enqueue(queue_.get(), 0, 3, nullptr), CL_SUCCESS);
    ASSERT_EQ(clFinish(queue_.get()), CL_SUCCESS);
    const std::vector<float> between = Expected(Values(n), 1);
    std::vector<float> copied(n);
    std::memcpy(reinterpret_cast<char*>(copied.data()) + to,
                reinterpret_cast<const char*>(between.data()) + from, static_cast<size_t>(bytes));
    EXPECT_EQ(Download(c), copied) << bytes << " bytes";
    EXPECT_EQ(Download(a), Expected(Values(n), 2));
  }
}

TEST_F(MegakernelTest, ItemsOfATeamWaitForEachOther) {
  const std::vector<int> all = {2, 6, 8, 24, 32, 64, 96, 256};
  for (const int team : HasTeamBarriers() ? all : std::vector<int>{256}) {
    Build({Kernel("swap", team, Swap(team), 4 * 256), Kernel("turn", 8, kTurn)});
    const size_t n = 20000 / (2 * team) * 2 * team;
    const hal::BufferPtr a = Upload(Values(n));
    const hal::BufferPtr b = Upload(std::vector<float>(n));
    std::vector<hal::Launch> launches;
    for (int i = 0; i < 10; ++i) {
      launches.push_back(Launch(i % 2, i % 2 == 0 ? a : b, i % 2 == 0 ? b : a));
    }
    const auto sequence = Sequence(launches, Units());
    ASSERT_EQ(sequence->Enqueue(queue_.get(), 0, 10, nullptr), CL_SUCCESS);
    ASSERT_EQ(clFinish(queue_.get()), CL_SUCCESS);
    std::vector<float> expected = Values(n);
    for (int i = 0; i < 5; ++i) {
      std::vector<float> swapped(n);
      for (size_t k = 0; k < n; ++k) swapped[k] = expected[k ^ 1];
      for (size_t k = 0; k < n; ++k) expected[k] = swapped[(k + 1) % n] + 1;
    }
    EXPECT_EQ(Download(a), expected) << "teams of " << team;
  }
}

// One call executes consecutive launches that keep the same buffer. Other buffers, copies and other
// kernels end the call, wherever the device launch begins.
TEST_F(MegakernelTest, DoesARunOfLaunchesAtOnce) {
  Build({RunKernel("run"), Kernel("scale", 96, kScale)});
  const std::vector<float> ones(256, 1);
  const std::vector<float> twos(256, 2);
  const hal::BufferPtr kept[] = {Upload(ones), Upload(twos)};
  // The buffer that each launch keeps, or -1 for another kernel.
  const std::vector<int> kinds = {0, 0, 0, 1, 1, -1, 1, 0, 0, 0, 0, -1, -1, 0, 0};
  std::vector<hal::BufferPtr> places;
  for (size_t i = 0; i <= kinds.size(); ++i) places.push_back(Upload(Values(256)));
  std::vector<hal::Launch> launches;
  for (size_t i = 0; i < kinds.size(); ++i) {
    hal::Launch launch = Launch(kinds[i] < 0 ? 1 : 0, places[i], places[i + 1]);
    if (kinds[i] >= 0) {
      launch.arguments.push_back(kept[kinds[i]]);
      launch.numbers.clear();
    }
    launches.push_back(std::move(launch));
  }
  const int end = static_cast<int>(launches.size());
  for (const std::vector<int>& begins :
       {std::vector<int>{0, end}, {0, 1, 2, end}, {0, 4, 9, 14, end}}) {
    for (const int64_t groups : {int64_t{1}, Units(), 16 * Units()}) {
      const auto sequence = Sequence(launches, groups);
      for (size_t b = 0; b + 1 < begins.size(); ++b) {
        ASSERT_EQ(sequence->Enqueue(queue_.get(), begins[b], begins[b + 1], nullptr), CL_SUCCESS);
      }
      ASSERT_EQ(clFinish(queue_.get()), CL_SUCCESS);
      std::vector<float> expected = Values(256);
      int before = 0;
      for (size_t i = 0; i < kinds.size(); ++i) {
        const bool is_cut =
            std::find(begins.begin(), begins.end(), static_cast<int>(i)) != begins.end();
        before = is_cut || kinds[i] < 0 || kinds[i] != kinds[i - 1] ? 1 : before + 1;
        std::vector<float> next(256);
        for (size_t k = 0; k < 255; ++k) {
          next[k] = kinds[i] < 0 ? expected[255 - k] * 0.5F
                                 : expected[(k + 1) % 255] + static_cast<float>(kinds[i] + 1);
        }
        next[255] = kinds[i] < 0 ? expected[0] * 0.5F : static_cast<float>(before);
        expected = std::move(next);
        EXPECT_EQ(Download(places[i + 1]), expected) << "launch " << i << ", " << groups;
      }
    }
  }
}

TEST(CanBeInMegakernel, LeavesLargeGroupsAndManyArguments) {
  hal::Launch launch;
  launch.local_size = {16, 16, 1};
  launch.global_size = {1600, 16, 3};
  launch.numbers.assign(kMaxWords - kHeadWords, 1);
  EXPECT_TRUE(CanBeInMegakernel(launch));
  launch.numbers.push_back(1);
  EXPECT_FALSE(CanBeInMegakernel(launch));
  launch.numbers.clear();
  launch.local_size = launch.global_size = {512, 1, 1};
  EXPECT_FALSE(CanBeInMegakernel(launch));
}

}  // namespace
}  // namespace tartan::opencl::group_sequence_test
