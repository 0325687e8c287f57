// SPDX-License-Identifier: Apache-2.0
// Tests that reordering steps reduces the peak memory and keeps the results.
#include "tile/compiler/memory/order_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/step_lists.h"
#include "tile/compiler/memory/lifetimes.h"

namespace tartan::compiler::order_steps_test {
namespace {

TEST(OrderSteps, UpdatesOnceTheirGradientsAreThere) {
  KernelList list;
  std::vector<Step> updates;
  for (int i = 0; i < 4; ++i) {
    const int gradient = AddBuffer(BufferKind::kTemporary, &list);
    const int state = AddBuffer(BufferKind::kState, &list);
    list.steps.push_back(FillStep{gradient, DataType::kFloat32, 1.0 + i});
    updates.push_back(CopyStep{gradient, state});
  }
  list.steps.insert(list.steps.end(), updates.begin(), updates.end());
  ASSERT_EQ(Peak(list), 4 * kBytes);
  OrderSteps(&list);
  EXPECT_EQ(Peak(list), kBytes);
}

TEST(OrderSteps, TakesMemoryAsLateAsItCan) {
  KernelList list;
  std::vector<Step> uses;
  // Each early value is needed only when an output of the same size is written.
  for (int i = 0; i < 4; ++i) {
    const int early = AddBuffer(BufferKind::kTemporary, &list);
    const int output = AddBuffer(BufferKind::kOutput, &list);
    list.steps.push_back(FillStep{early, DataType::kFloat32, 1.0 + i});
    uses.push_back(CopyStep{early, output});
    list.outputs.push_back(output);
  }
  list.steps.insert(list.steps.end(), uses.begin(), uses.end());
  OrderSteps(&list);
  EXPECT_EQ(Peak(list), 5 * kBytes);
}

TEST(OrderSteps, ReadsStatesBeforeTheyChange) {
  KernelList list;
  const int state = AddBuffer(BufferKind::kState, &list);
  const int gradient = AddBuffer(BufferKind::kTemporary, &list);
  const int before = AddBuffer(BufferKind::kOutput, &list);
  list.outputs = {before};
  list.steps = {FillStep{gradient, DataType::kFloat32, 7}, CopyStep{state, before},
                CopyStep{gradient, state}};
  OrderSteps(&list);
  EXPECT_EQ(Simulate(list)[before], -1 - state);
  EXPECT_EQ(Simulate(list)[state], 7);
}

TEST(OrderSteps, LeavesWhatRandomStepsCompute) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    KernelList list;
    const BufferKind kinds[] = {BufferKind::kTemporary, BufferKind::kTemporary,
                                BufferKind::kTemporary, BufferKind::kState,
                                BufferKind::kInput,     BufferKind::kOutput};
    for (int b = 0; b < 12; ++b) {
      const int buffer = AddBuffer(kinds[random() % 6], &list);
      list.buffers[buffer].bytes = kBytes * (1 + random() % 8);
      if (list.buffers[buffer].kind == BufferKind::kOutput) list.outputs.push_back(buffer);
    }
    for (int s = 0; s < 30; ++s) {
      const auto from = static_cast<int>(random() % 12);
      const auto to = static_cast<int>(random() % 12);
      if (from == to || random() % 4 == 0) {
        list.steps.push_back(FillStep{to, DataType::kFloat32, static_cast<double>(s)});
      } else {
        list.steps.push_back(CopyStep{from, to});
      }
    }
    const std::vector<double> expected = Simulate(list);
    const int64_t peak = Peak(list);
    OrderSteps(&list);
    EXPECT_EQ(list.steps.size(), 30u);
    EXPECT_EQ(Simulate(list), expected);
    EXPECT_LE(Peak(list), peak);
  }
}

TEST(MemoryUse, TellsWhatTheForwardPassKeeps) {
  KernelList list;
  const int input = AddBuffer(BufferKind::kInput, &list);
  const int loss = AddBuffer(BufferKind::kState, &list);
  const int hidden = AddBuffer(BufferKind::kTemporary, &list);
  const int passing = AddBuffer(BufferKind::kTemporary, &list);
  const int gradient = AddBuffer(BufferKind::kTemporary, &list);
  const int weights = AddBuffer(BufferKind::kState, &list);
  list.inputs = {input, loss, weights};
  list.steps = {CopyStep{input, hidden},    CopyStep{hidden, passing},
                CopyStep{passing, loss},    FillStep{gradient, DataType::kFloat32, 0},
                CopyStep{hidden, gradient}, CopyStep{gradient, weights}};
  const MemoryUse use = UseAtPeak(list, 1);
  EXPECT_EQ(use.inputs + use.kept + use.other, Peak(list));
  EXPECT_EQ(use.kept, kBytes);
  EXPECT_EQ(UseAtPeak(list, -1).kept, 0);
}

}  // namespace
}  // namespace tartan::compiler::order_steps_test
