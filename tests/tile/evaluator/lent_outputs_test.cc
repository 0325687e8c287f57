// SPDX-License-Identifier: Apache-2.0
// Tests outputs so large that callers receive the kernel's output memory without a copy.
#include "tile/evaluator/lent_outputs.h"

#include <gtest/gtest.h>

#include "tests/tile/evaluator/device.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::evaluator::lent_outputs_test {
namespace {

constexpr int64_t kRows = 700;
constexpr int64_t kColumns = 1000;
constexpr int64_t kBytes = kRows * kColumns * 4;

// Fills Y with the input's first value, and S with that value times the number of rows.
TestProgram Filled() {
  return {"Filled",
          "function (A[M, L], B[L, N]) -> (Y, S) "
          "{ Y[i, j : M, N] = +(A[i, k] * B[k, j]); S[j : N] = +(Y[i, j]); }",
          {{DataType::kFloat32, {kRows, 2}}, {DataType::kFloat32, {2, kColumns}}}};
}

std::vector<HostTensor> InputsOf(float number) {
  std::vector<float> left(kRows * 2), right(2 * kColumns, 1);
  for (size_t i = 0; i < left.size(); i += 2) left[i] = number;
  return {HostTensor::FromVector<float>({DataType::kFloat32, {kRows, 2}}, left),
          HostTensor::FromVector<float>({DataType::kFloat32, {2, kColumns}}, right)};
}

std::shared_ptr<LoadedProgram> Load() {
  const auto compiled = TestProgramCache().Get(ToProto(Filled()));
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  auto loaded = LoadedProgram::Load(*compiled, {});
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return *std::move(loaded);
}

HostTensor RunWith(LoadedProgram& program, float number) {
  auto outputs = program.Run(InputsOf(number));
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[1].GetDouble(kColumns - 1), number * kRows);
  return outputs->front();
}

// Expects this value in every element.
void ExpectFilled(const HostTensor& output, float number) {
  ASSERT_EQ(output.element_count(), kRows * kColumns);
  for (int64_t i = 0; i < kRows * kColumns; ++i) ASSERT_EQ(output.GetDouble(i), number) << i;
}

int64_t Allocated() { return TestDevice()->statistics().allocated_bytes; }

TEST(LentOutputs, StayAsTheyAreWhileOtherRunsFollow) {
  const std::shared_ptr<LoadedProgram> program = Load();
  std::vector<HostTensor> kept;
  for (int run = 1; run <= 3 * OutputMemory::kMaxLent; ++run) {
    kept.push_back(RunWith(*program, static_cast<float>(run)));
  }
  kept.erase(kept.begin() + 1, kept.begin() + 3);  // leaves memory for two runs
  kept.push_back(RunWith(*program, -1));
  kept.push_back(RunWith(*program, -2));
  ExpectFilled(kept[0], 1);
  for (size_t i = 1; i + 2 < kept.size(); ++i) ExpectFilled(kept[i], static_cast<float>(i + 3));
  ExpectFilled(kept[kept.size() - 2], -1);
  ExpectFilled(kept.back(), -2);
}

TEST(LentOutputs, StayAsTheyAreWhenTheProgramIsGone) {
  std::shared_ptr<LoadedProgram> program = Load();
  const HostTensor output = RunWith(*program, 5);
  program.reset();
  ExpectFilled(output, 5);
}

TEST(LentOutputs, TakeMemoryOnlyWhileSomebodyHasThem) {
  const std::shared_ptr<LoadedProgram> program = Load();
  HostTensor last = RunWith(*program, 1);
  last = RunWith(*program, 2);
  const int64_t before = Allocated();
  for (int run = 3; run < 12; ++run) last = RunWith(*program, static_cast<float>(run));
  EXPECT_EQ(Allocated(), before);
  std::vector<HostTensor> kept;
  for (int run = 0; run < 4 * OutputMemory::kMaxLent; ++run) kept.push_back(RunWith(*program, 1));
  EXPECT_LE(Allocated() - before, (OutputMemory::kMaxLent - 1) * kBytes);
}

TEST(LentOutputs, AreNotCopiedOnACpuOfPocl) {
  if (!TestSettings().batches_launches || TestSettings().threads > 1) GTEST_SKIP();
  const std::shared_ptr<LoadedProgram> program = Load();
  const int64_t before = Allocated();
  const HostTensor first = RunWith(*program, 1);
  const int64_t one = Allocated() - before;
  const HostTensor second = RunWith(*program, 2);
  EXPECT_EQ(Allocated() - before - one, kBytes);
  EXPECT_NE(first.bytes().data(), second.bytes().data());
}

}  // namespace
}  // namespace tartan::evaluator::lent_outputs_test
