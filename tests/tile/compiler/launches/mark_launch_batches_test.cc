// SPDX-License-Identifier: Apache-2.0
// Tests which launches are marked as members of a launch batch.
#include "tile/compiler/launches/mark_launch_batches.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tile/loop/build.h"

namespace tartan::compiler::mark_sequences_test {
namespace {

HardwareSettings Settings() {
  HardwareSettings settings;
  settings.batches_launches = true;
  return settings;
}

// Returns a list whose steps launch one kernel each, with these predicted times.
KernelList ListOf(const std::vector<double>& microseconds) {
  KernelList list;
  for (const double us : microseconds) {
    loop::Kernel& kernel = list.kernels.emplace_back();
    kernel.name = absl::StrCat("k", list.steps.size());
    kernel.body = loop::MakeBlock({});
    LaunchStep launch;
    launch.kernel = static_cast<int>(list.steps.size());
    launch.predicted_us = us;
    list.steps.emplace_back(launch);
  }
  return list;
}

std::vector<bool> Marked(KernelList list, const HardwareSettings& settings = Settings()) {
  MarkLaunchBatches(settings, &list);
  std::vector<bool> marked;
  for (const loop::Kernel& kernel : list.kernels) marked.push_back(kernel.in_launch_batch);
  return marked;
}

TEST(MarkLaunchBatches, MarksShortNeighbours) {
  EXPECT_EQ(Marked(ListOf({10, 20, 1e5, 5, 1e5, 3, 4})),
            (std::vector<bool>{true, true, false, false, false, true, true}));
}

// A launch on more cores takes less time and has to wake up more threads.
TEST(MarkLaunchBatches, MarksLongerLaunchesWhereMoreCoresShareThem) {
  const KernelList list = ListOf({3000, 3000});
  HardwareSettings settings = Settings();
  EXPECT_EQ(Marked(list, settings), (std::vector<bool>{false, false}));
  settings.compute_units = 4;
  EXPECT_EQ(Marked(list, settings), (std::vector<bool>{true, true}));
}

TEST(MarkLaunchBatches, MarksTheOnlyLaunchOfAProgramWhereItIsShort) {
  EXPECT_EQ(Marked(ListOf({10})), (std::vector<bool>{true}));
  EXPECT_EQ(Marked(ListOf({1e5})), (std::vector<bool>{false}));
}

TEST(MarkLaunchBatches, LeavesALaunchWithoutANeighbour) {
  KernelList list = ListOf({10, 20});
  list.steps.insert(list.steps.begin() + 1, FillStep{});
  EXPECT_EQ(Marked(list), (std::vector<bool>{false, false}));
}

TEST(MarkLaunchBatches, LeavesWhatHasGroups) {
  KernelList list = ListOf({1, 1, 1, 1});
  list.kernels[1].global_size[1] = 2;
  list.kernels[2].body = loop::MakeFor("i", loop::Int(0), loop::Int(3), loop::MakeBarrier());
  EXPECT_EQ(Marked(list), (std::vector<bool>{true, true, false, false}));
  list = ListOf({1, 1});
  list.kernels[0].local_size[0] = list.kernels[0].global_size[0] = 4;
  EXPECT_EQ(Marked(list), (std::vector<bool>{false, false}));
}

HardwareSettings Gpu() {
  HardwareSettings settings = Settings();
  settings.threads = 256;
  settings.gbps = 1000;
  return settings;
}

TEST(MarkLaunchBatches, MarksShortGroupsOfGpus) {
  KernelList list = ListOf({4, 5, 100, 6, 7});
  for (loop::Kernel& kernel : list.kernels) kernel.local_size[0] = kernel.global_size[0] = 64;
  list.kernels[1].body = loop::MakeBarrier();
  EXPECT_EQ(Marked(list, Gpu()), (std::vector<bool>{true, true, false, true, true}));
}

// An input that is also an output marks a repeated program: its next run reads the buffer.
TEST(MarkLaunchBatches, TakesTheLastLaunchOfARepeatedProgramForTheFirstOnesNeighbour) {
  const auto marked = [](const std::vector<double>& microseconds, BufferKind carried_output) {
    KernelList list = ListOf(microseconds);
    list.buffers.emplace_back().kind = carried_output;
    list.outputs = {0};
    return Marked(list, Gpu());
  };
  EXPECT_EQ(marked({4}, BufferKind::kInput), (std::vector<bool>{true}));
  EXPECT_EQ(marked({100}, BufferKind::kInput), (std::vector<bool>{false}));
  EXPECT_EQ(marked({4, 100, 5}, BufferKind::kInput), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(marked({4, 100, 50}, BufferKind::kInput), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(marked({4}, BufferKind::kOutput), (std::vector<bool>{false}));
  EXPECT_EQ(marked({4, 100, 5}, BufferKind::kOutput), (std::vector<bool>{false, false, false}));
}

// The driver enqueues launches while the device runs longer ones.
TEST(MarkLaunchBatches, LeavesGpuProgramsWhoseLaunchesTakeLongerThanTheirEnqueueing) {
  HardwareSettings settings = Gpu();
  settings.launch_us = 4;
  const auto marked = [&](int launches, double us) {
    return Marked(ListOf(std::vector<double>(launches, us)), settings);
  };
  EXPECT_EQ(marked(16, 5), std::vector<bool>(16, true));
  EXPECT_EQ(marked(16, 6), std::vector<bool>(16, false));
  EXPECT_EQ(marked(15, 6), std::vector<bool>(15, true));
  settings.threads = 1;
  EXPECT_EQ(marked(16, 6), std::vector<bool>(16, true)) << "a CPU";
}

// One process compiles all kernels of a megakernel.
TEST(MarkLaunchBatches, LeavesGpuProgramsOfManyKernels) {
  HardwareSettings settings = Gpu();
  settings.launch_us = 4;
  EXPECT_EQ(Marked(ListOf(std::vector<double>(96, 1)), settings), std::vector<bool>(96, true));
  EXPECT_EQ(Marked(ListOf(std::vector<double>(97, 1)), settings), std::vector<bool>(97, false));
}

TEST(MarkLaunchBatches, MarksGpuProgramsWithPersistentValues) {
  HardwareSettings settings = Gpu();
  settings.launch_us = 4;
  KernelList list = ListOf(std::vector<double>(16, 6));
  list.kernels[3].parameters = {{"weights", DataType::kFloat32}};
  list.kernels[3].body = loop::MakeOnce(
      loop::MakeAssign("kept", loop::LoadFrom("weights", DataType::kFloat32, loop::Int(0))));
  EXPECT_EQ(Marked(list, settings), std::vector<bool>(16, true));
}

// Without a predicted time, the bytes that a launch moves decide.
TEST(MarkLaunchBatches, LeavesLaunchesOfGpusThatMoveMuch) {
  KernelList list = ListOf({0, 0, 0});
  std::get<LaunchStep>(list.steps[0]).bytes = 1e6;
  std::get<LaunchStep>(list.steps[1]).bytes = 1e5;
  std::get<LaunchStep>(list.steps[2]).bytes = 1e9;
  EXPECT_EQ(Marked(list, Gpu()), (std::vector<bool>{true, true, false}));
}

TEST(MarkLaunchBatches, LeavesLargeGroupsOfGpus) {
  KernelList list = ListOf({1, 1, 1, 1});
  list.kernels[0].local_size[0] = 512;  // more work-items than a batch allows
  list.kernels[1].local_size[0] = 40;   // a barrier needs one warp at most, or whole warps
  list.kernels[1].body = loop::MakeBarrier();
  list.kernels[2].local_size[0] = 40;
  const loop::Type number = {DataType::kFloat32, 1};
  list.kernels[3].body = loop::MakeArray(number, "tile", 3073, loop::Space::kLocal);
  EXPECT_EQ(Marked(list, Gpu()), (std::vector<bool>{false, false, false, false}));
  list.kernels[3].body = loop::MakeArray(number, "tile", 3072, loop::Space::kLocal);
  EXPECT_EQ(Marked(list, Gpu()), (std::vector<bool>{false, false, true, true}));
}

// A kernel that fills a compute unit's local memory takes longer, but is as fast in a batch.
TEST(MarkLaunchBatches, TakesLongerLaunchesThatFillAUnit) {
  const loop::Type number = {DataType::kFloat32, 1};
  const auto early = [&](int64_t size) {
    return loop::MakeBlock({loop::MakeArray(number, "tile", size, loop::Space::kLocal),
                            loop::MakeEarly(loop::MakeBlock({}))});
  };
  KernelList list = ListOf({20, 1, 20, 1, 30, 1});
  for (int k : {0, 2, 4}) list.kernels[k].body = early(48 << 10);
  EXPECT_EQ(Marked(list, Gpu()), (std::vector<bool>{true, true, true, true, false, false}));
  for (int k : {0, 2, 4}) list.kernels[k].body = early((48 << 10) + 16);
  EXPECT_EQ(Marked(list, Gpu()), (std::vector<bool>(6, false)));
}

TEST(MarkAllForLaunchBatches, LeavesGpusAlone) {
  KernelList list = ListOf({1, 1});
  MarkAllForLaunchBatches(Gpu(), &list);
  EXPECT_FALSE(list.kernels[0].in_launch_batch);
}

// The driver compiles marked kernels faster, because they are one program.
TEST(MarkAllForLaunchBatches, MarksSharedKernelsWhateverTheirNeighboursAre) {
  KernelList list = ListOf({1e5, 1, 1e5});
  list.kernels[1].body = loop::MakeBarrier();
  MarkAllForLaunchBatches(Settings(), &list);
  EXPECT_TRUE(list.kernels[0].in_launch_batch);
  EXPECT_FALSE(list.kernels[1].in_launch_batch);
  EXPECT_TRUE(list.kernels[2].in_launch_batch);
}

TEST(MarkLaunchBatches, MarksNothingWhereTheDeviceRunsNone) {
  HardwareSettings settings = Settings();
  settings.batches_launches = false;
  EXPECT_EQ(Marked(ListOf({1, 1}), settings), (std::vector<bool>{false, false}));
}

}  // namespace
}  // namespace tartan::compiler::mark_sequences_test
