// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/interpret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tile/loop/build.h"

namespace tartan::loop::interpret_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr DataType kF32 = DataType::kFloat32;
const Type kInt{DataType::kInt32, 1};
const Type kFloat{kF32, 1};

template <class T>
std::vector<uint8_t> Bytes(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> Values(const std::vector<uint8_t>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Kernel MakeKernel(StmtPtr body, int64_t items, int64_t group) {
  Kernel kernel;
  kernel.name = "k";
  kernel.parameters = {{"y", kF32, true}, {"x", kF32}};
  kernel.global_size[0] = items;
  kernel.local_size[0] = group;
  kernel.body = std::move(body);
  return kernel;
}

TEST(Interpret, RunsEveryWorkItem) {
  const ExprPtr i = Work(WorkId::kGlobal, 0);
  const Kernel kernel =
      MakeKernel(MakeStore("y", kF32, i, Mul(LoadFrom("x", kF32, i), Float(2))), 3, 1);
  std::vector<std::vector<uint8_t>> buffers = {Bytes<float>({0, 0, 0}), Bytes<float>({1, 2, 3})};
  ASSERT_TRUE(Interpret(kernel, absl::MakeSpan(buffers)).ok());
  EXPECT_THAT(Values<float>(buffers[0]), ElementsAre(2, 4, 6));
}

TEST(Interpret, SumsInALoopWithVectors) {
  const Type vector{kF32, 4};
  const ExprPtr k = Var("k", kInt);
  const Kernel kernel =
      MakeKernel(MakeBlock({MakeDeclare(vector, "sum", Splat(Float(0), 4), true),
                            MakeFor("k", Int(0), Int(8),
                                    MakeAssign("sum", MulAdd(LoadFrom("x", kF32, k, 4), Float(1),
                                                             Var("sum", vector))),
                                    4),
                            MakeStore("y", kF32, Int(0), Var("sum", vector)),
                            MakeStore("y", kF32, Int(4), LaneOf(Var("sum", vector), 2))}),
                 1, 1);
  std::vector<std::vector<uint8_t>> buffers = {Bytes<float>(std::vector<float>(5)),
                                               Bytes<float>({1, 2, 3, 4, 5, 6, 7, 8})};
  ASSERT_TRUE(Interpret(kernel, absl::MakeSpan(buffers)).ok());
  EXPECT_THAT(Values<float>(buffers[0]), ElementsAre(6, 8, 10, 12, 10));
}

// Reverses within a group through local memory.
Kernel ReverseKernel() {
  const ExprPtr i = Work(WorkId::kLocal, 0);
  return MakeKernel(
      MakeBlock(
          {MakeArray(kFloat, "tile", 4, Space::kLocal),
           MakeStore("tile", kF32, i, LoadFrom("x", kF32, Work(WorkId::kGlobal, 0))), MakeBarrier(),
           MakeStore("y", kF32, Work(WorkId::kGlobal, 0), LoadFrom("tile", kF32, Sub(Int(3), i)))}),
      8, 4);
}

TEST(Interpret, SharesLocalMemoryAcrossABarrier) {
  std::vector<std::vector<uint8_t>> buffers = {Bytes<float>(std::vector<float>(8)),
                                               Bytes<float>({1, 2, 3, 4, 5, 6, 7, 8})};
  ASSERT_TRUE(Interpret(ReverseKernel(), absl::MakeSpan(buffers)).ok());
  EXPECT_THAT(Values<float>(buffers[0]), ElementsAre(4, 3, 2, 1, 8, 7, 6, 5));
}

TEST(Interpret, RefusesABarrierThatSomeWorkItemsMiss) {
  const Kernel kernel =
      MakeKernel(MakeIf(Less(Work(WorkId::kLocal, 0), Int(1)), MakeBarrier()), 2, 2);
  std::vector<std::vector<uint8_t>> buffers = {Bytes<float>({0}), Bytes<float>({0})};
  EXPECT_THAT(std::string(Interpret(kernel, absl::MakeSpan(buffers)).message()),
              HasSubstr("1 of 2 work-items reach a barrier"));
}

TEST(Interpret, ReportsAccessOutsideOfABuffer) {
  const Kernel load = MakeKernel(MakeStore("y", kF32, Int(0), LoadFrom("x", kF32, Int(2))), 1, 1);
  const Kernel store = MakeKernel(MakeStore("y", kF32, Int(-1), Splat(Float(0), 4)), 1, 1);
  std::vector<std::vector<uint8_t>> buffers = {Bytes<float>({0, 0}), Bytes<float>({0, 0})};
  const absl::Status load_status = Interpret(load, absl::MakeSpan(buffers));
  EXPECT_EQ(load_status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(load_status.message()),
              HasSubstr("index 2 with 1 lanes is outside of 'x'"));
  EXPECT_EQ(Interpret(store, absl::MakeSpan(buffers)).code(), absl::StatusCode::kOutOfRange);
}

TEST(Interpret, LeavesLoadsThatAreNotSelectedAlone) {
  const ExprPtr guarded = Select(Less(Work(WorkId::kGlobal, 0), Int(1)),
                                 LoadFrom("x", kF32, Work(WorkId::kGlobal, 0)), Float(-1));
  const Kernel kernel = MakeKernel(MakeStore("y", kF32, Work(WorkId::kGlobal, 0), guarded), 2, 1);
  std::vector<std::vector<uint8_t>> buffers = {Bytes<float>({0, 0}), Bytes<float>({5})};
  ASSERT_TRUE(Interpret(kernel, absl::MakeSpan(buffers)).ok());
  EXPECT_THAT(Values<float>(buffers[0]), ElementsAre(5, -1));
}

TEST(Interpret, AddsAtomically) {
  const Kernel kernel = MakeKernel(MakeAtomicUpdate("y", kF32, ScalarOp::kAdd, Int(0),
                                                    LoadFrom("x", kF32, Work(WorkId::kGlobal, 0))),
                                   4, 2);
  std::vector<std::vector<uint8_t>> buffers = {Bytes<float>({10}), Bytes<float>({1, 2, 3, 4})};
  ASSERT_TRUE(Interpret(kernel, absl::MakeSpan(buffers)).ok());
  EXPECT_THAT(Values<float>(buffers[0]), ElementsAre(20));
}

TEST(Interpret, ConvertsSixteenBitFloats) {
  Kernel kernel = MakeKernel(
      MakeStore("y", DataType::kBFloat16, Int(0), LoadFrom("x", DataType::kFloat16, Int(0))), 1, 1);
  kernel.parameters = {{"y", DataType::kBFloat16, true}, {"x", DataType::kFloat16}};
  std::vector<std::vector<uint8_t>> buffers = {Bytes<uint16_t>({0}), Bytes<uint16_t>({0x3e00})};
  ASSERT_TRUE(Interpret(kernel, absl::MakeSpan(buffers)).ok());
  EXPECT_THAT(Values<uint16_t>(buffers[0]), ElementsAre(0x3fc0));  // 1.5
}

TEST(Interpret, ChecksTheNumberOfBuffers) {
  std::vector<std::vector<uint8_t>> none;
  EXPECT_EQ(Interpret(ReverseKernel(), absl::MakeSpan(none)).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tartan::loop::interpret_test
