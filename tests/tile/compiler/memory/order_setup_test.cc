// SPDX-License-Identifier: Apache-2.0
// Tests the order of the steps that run at load.
#include "tile/compiler/memory/order_setup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/tile/compiler/step_lists.h"

namespace tartan::compiler::order_setup_test {
namespace {

// Returns the value that each buffer contains after setup.
std::vector<double> AfterSetup(KernelList list) {
  list.steps = list.setup;
  return Simulate(list);
}

std::pair<int, int> CopyOf(const Step& step) {
  const auto& copy = std::get<CopyStep>(step);
  return {copy.from, copy.to};
}

TEST(OrderSetup, MakesWhatIsPassedOnRightBeforeItIsRead) {
  KernelList list;
  std::vector<std::pair<int, int>> makes;
  std::vector<std::pair<int, int>> reads;
  for (int i = 0; i < 3; ++i) {
    const int constant = AddBuffer(BufferKind::kConstant, &list);
    const int joined = AddBuffer(BufferKind::kPersistent, &list);
    const int packed = AddBuffer(BufferKind::kPersistent, &list);
    makes.emplace_back(constant, joined);
    reads.emplace_back(joined, packed);
  }
  for (const auto& [from, to] : makes) list.setup.push_back(CopyStep{from, to});
  for (const auto& [from, to] : reads) list.setup.push_back(CopyStep{from, to});
  const std::vector<double> before = AfterSetup(list);
  OrderSetup(&list);
  ASSERT_EQ(list.setup.size(), 6);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(CopyOf(list.setup[2 * i]), makes[i]);
    EXPECT_EQ(CopyOf(list.setup[2 * i + 1]), reads[i]);
  }
  EXPECT_EQ(AfterSetup(list), before);
}

TEST(OrderSetup, KeepsWhatRandomListsCompute) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    KernelList list;
    for (int b = 0; b < 6; ++b) AddBuffer(BufferKind::kPersistent, &list);
    const auto pick = [&] { return static_cast<int>(random() % 6); };
    for (int s = 0; s < 12; ++s) {
      const int to = pick();
      const int from = pick();
      if (from == to || random() % 4 == 0) {
        list.setup.push_back(FillStep{to, DataType::kFloat32, 1.0 + s});
      } else {
        list.setup.push_back(CopyStep{from, to});
      }
    }
    const std::vector<double> before = AfterSetup(list);
    OrderSetup(&list);
    EXPECT_EQ(list.setup.size(), 12) << round;
    EXPECT_EQ(AfterSetup(list), before) << round;
  }
}

}  // namespace
}  // namespace tartan::compiler::order_setup_test
