// SPDX-License-Identifier: Apache-2.0
// Tests device buffers of constants, and of values computed from them, that several programs share.
#include "tile/evaluator/resident_buffers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/tile/evaluator/device.h"
#include "tile/evaluator/loaded_program.h"
#include "tile/evaluator/program_cache.h"

namespace tartan::evaluator::resident_buffers_test {
namespace {

constexpr int64_t kRows = 64;
constexpr int64_t kColumns = 4096;
constexpr int64_t kWeightBytes = kRows * kColumns * 4;

int64_t Allocated() { return TestDevice()->statistics().allocated_bytes; }

// Compiles a program with a constant W and an X of `batch` rows.
std::shared_ptr<const CompiledProgram> Compiled(const std::string& code, int64_t batch,
                                                int64_t columns) {
  const TestProgram program = {
      "Shared",
      code,
      {{DataType::kFloat32, {kRows, kColumns}}, {DataType::kFloat32, {batch, columns}}}};
  proto::Program proto = ToProto(program);
  proto.mutable_inputs(0)->set_is_constant(true);
  const auto compiled = TestProgramCache().Get(proto);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  return *compiled;
}

// Adds W's row sums, which are computed once, to X.
std::shared_ptr<const CompiledProgram> AddRowSums(int64_t batch) {
  return Compiled("function (W[R, C], X) -> (Y) { S[r : R] = +(W[r, c]); Y = X + S; }", batch,
                  kRows);
}

// Multiplies X by W and sums over the rows of X. Every run reads W, with the same kernel for every
// batch size.
std::shared_ptr<const CompiledProgram> WeightedSum(int64_t batch) {
  return Compiled("function (W[R, C], X[B, C]) -> (Y) { Y[r : R] = +(W[r, c] * X[b, c]); }", batch,
                  kColumns);
}

HostTensor Weight(float value) {
  return HostTensor::FromVector({DataType::kFloat32, {kRows, kColumns}},
                                std::vector<float>(kRows * kColumns, value));
}

std::shared_ptr<LoadedProgram> Loaded(std::shared_ptr<const CompiledProgram> program,
                                      const HostTensor& weight, ResidentPool* pool) {
  const auto loaded = LoadedProgram::Load(std::move(program), {weight}, pool);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return *loaded;
}

// Runs the program with an X of ones and returns the first output element.
double FirstOf(LoadedProgram& program, int64_t batch, int64_t columns) {
  const auto y = program.Run(
      {HostTensor::FromVector({DataType::kFloat32, {batch, columns}},
                              std::vector<float>(static_cast<size_t>(batch * columns), 1))});
  EXPECT_TRUE(y.ok()) << y.status();
  return y->front().GetDouble(0);
}

TEST(ResidentBuffers, AreThereOnceForProgramsThatReadTheSameConstant) {
  ResidentPool pool;
  const HostTensor weight = Weight(2);
  const int64_t before = Allocated();
  const auto first = Loaded(WeightedSum(5), weight, &pool);
  const int64_t one = Allocated();
  EXPECT_GE(one - before, kWeightBytes);
  const auto second = Loaded(WeightedSum(7), weight, &pool);
  EXPECT_LT(Allocated() - one, kWeightBytes / 2);
  EXPECT_EQ(FirstOf(*first, 5, kColumns), 5 * 2 * kColumns);
  EXPECT_EQ(FirstOf(*second, 7, kColumns), 7 * 2 * kColumns);
}

TEST(ResidentBuffers, OutliveTheProgramThatMadeThem) {
  ResidentPool pool;
  const HostTensor weight = Weight(2);
  const int64_t before = Allocated();
  auto first = Loaded(WeightedSum(1), weight, &pool);
  auto second = Loaded(WeightedSum(3), weight, &pool);
  first = nullptr;
  EXPECT_EQ(FirstOf(*second, 3, kColumns), 3 * 2 * kColumns);
  second = nullptr;
  EXPECT_EQ(Allocated(), before) << "the pool holds none itself";
}

TEST(ResidentBuffers, OfOtherConstantsAreOthers) {
  ResidentPool pool;
  const auto first = Loaded(WeightedSum(1), Weight(2), &pool);
  const auto second = Loaded(WeightedSum(1), Weight(5), &pool);
  const auto third = Loaded(AddRowSums(2), Weight(7), &pool);
  EXPECT_EQ(FirstOf(*first, 1, kColumns), 2 * kColumns);
  EXPECT_EQ(FirstOf(*second, 1, kColumns), 5 * kColumns);
  EXPECT_EQ(FirstOf(*third, 2, kRows), 7 * kColumns + 1);
}

TEST(ResidentBuffers, HoldWhatIsComputedFromAConstantAndNotTheConstant) {
  ResidentPool pool;
  const HostTensor weight = Weight(3);
  const int64_t before = Allocated();
  const auto first = Loaded(AddRowSums(2), weight, &pool);
  const int64_t one = Allocated();
  EXPECT_LT(one - before, kWeightBytes / 2);
  EXPECT_LT(AddRowSums(2)->resident_bytes(), kWeightBytes / 2);
  const auto second = Loaded(AddRowSums(4), weight, &pool);
  EXPECT_EQ(Allocated(), one) << "what was computed is shared";
  EXPECT_EQ(FirstOf(*first, 2, kRows), 3 * kColumns + 1);
  EXPECT_EQ(FirstOf(*second, 4, kRows), 3 * kColumns + 1);
}

// Runs read only the row sums of six 12 MB constants, so the constants are uploaded one after
// another into shared memory.
TEST(ResidentBuffers, AreMadeOfConstantsThatShareMemoryOneAfterTheOther) {
  constexpr int64_t kLarge = int64_t{1} << 20;
  constexpr int64_t kLargeBytes = kLarge * 3 * 4;
  TestProgram program = {"Several",
                         "function (A[R, C], B, D, E, F, G, X) -> (Y) { S[r : R] = +(A[r, c]); "
                         "T[r : R] = +(B[r, c]); U[r : R] = +(D[r, c]); V[r : R] = +(E[r, c]); "
                         "W[r : R] = +(F[r, c]); Z[r : R] = +(G[r, c]); "
                         "Y = X + S + T + U + V + W + Z; }",
                         {}};
  const TensorShape shape{DataType::kFloat32, {3, kLarge}};
  program.inputs.assign(6, shape);
  program.inputs.push_back({DataType::kFloat32, {3}});
  proto::Program proto = ToProto(program);
  std::vector<HostTensor> constants;
  for (int i = 0; i < 6; ++i) {
    proto.mutable_inputs(i)->set_is_constant(true);
    constants.push_back(HostTensor::FromVector(
        shape, std::vector<float>(static_cast<size_t>(3 * kLarge), static_cast<float>(i))));
  }
  const auto compiled = TestProgramCache().Get(proto);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const int64_t before = Allocated();
  const int64_t peak = TestDevice()->statistics().peak_allocated_bytes;
  const auto loaded = LoadedProgram::Load(*compiled, constants, nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_LE(TestDevice()->statistics().peak_allocated_bytes,
            std::max(peak, before + 3 * kLargeBytes));
  const auto y = (*loaded)->Run({HostTensor::Zeros({DataType::kFloat32, {3}})});
  ASSERT_TRUE(y.ok()) << y.status();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(y->front().GetDouble(i), 15.0 * kLarge);
}

}  // namespace
}  // namespace tartan::evaluator::resident_buffers_test
