// SPDX-License-Identifier: Apache-2.0
// Tests loops that the host computes, against the naive evaluator called once per iteration.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/tile/compiler/programs.h"
#include "tile/evaluator/host/host_program.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::evaluator {
namespace {

// Elements of a row in memory: rows are longer than their values.
constexpr int64_t kRowElements = 16;

struct LoopCase {
  const char* name;
  std::string body;  // of one state, one slice and one invariant; returns the state and a row
  TensorShape state, slice, invariant;
  int64_t iterations = 5;
  bool reversed = false;
};

std::vector<LoopCase> LoopCases() {
  const std::string recurrent =
      "function (H[B, N], X, R[N, N]) -> (HN, Y) { Q[b, j : B, N] = +(H[b, i] * R[i, j]);"
      " HN = tanh(X + Q); Y = HN * H; }";
  const auto recurrence = [&](const char* name, DataType type, int64_t rows, int64_t iterations) {
    return LoopCase{name,           recurrent, {type, {rows, 5}}, {type, {rows, 5}},
                    {type, {5, 5}}, iterations};
  };
  std::vector<LoopCase> cases = {
      recurrence("float32", DataType::kFloat32, 3, 7),
      recurrence("float16, rounded after each iteration", DataType::kFloat16, 3, 7),
      recurrence("bfloat16, rounded after each iteration", DataType::kBFloat16, 3, 7),
      recurrence("one iteration", DataType::kFloat32, 1, 1),
      recurrence("no rows in the batch", DataType::kFloat32, 0, 3),
      {"a bool state that masks",
       "function (M, X, T) -> (MN, Y) { G = X > T; A = M && G; MN = A; Y = A ? X : -X; }",
       {DataType::kBool, {3, 5}},
       {DataType::kFloat32, {3, 5}},
       {DataType::kFloat32, {}}},
      {"integers that wrap",
       "function (S, X, T) -> (SN, Y) { SN = S * 3 + X; Y = SN - T; }",
       {DataType::kInt8, {7}},
       {DataType::kInt8, {7}},
       {DataType::kInt8, {7}},
       9},
  };
  cases.push_back(cases[0]);
  cases.back().name = "the last row first";
  cases.back().reversed = true;
  return cases;
}

ir::Program BodyOf(const LoopCase& loop) {
  return BindTestProgram({"Body", loop.body, {loop.state, loop.slice, loop.invariant}});
}

TensorShape RowsOf(const TensorShape& row, int64_t iterations) {
  return {row.type, {iterations, kRowElements}};
}

std::vector<HostTensor> OperandsOf(const LoopCase& loop) {
  return RandomInputs(
      {"Operands", "", {loop.state, RowsOf(loop.slice, loop.iterations), loop.invariant}}, 21);
}

HostParts PartsOfLoop(const LoopCase& loop) {
  HostParts parts;
  const auto input = [](const char* name, TensorShape shape) {
    return HostInput{name, std::move(shape)};
  };
  parts.inputs = {input("S", loop.state), input("X", RowsOf(loop.slice, loop.iterations)),
                  input("R", loop.invariant)};
  parts.parts = {{BodyOf(loop),
                  {0, 1, 2},
                  loop.iterations,
                  /*states=*/1,
                  /*slices=*/1,
                  loop.reversed,
                  {kRowElements}}};
  parts.outputs = {3, 4};
  return parts;
}

// The last state, then the rows.
std::vector<HostTensor> Naively(const LoopCase& loop, const std::vector<HostTensor>& operands) {
  const ir::Program body = BodyOf(loop);
  const int64_t width = ByteWidth(loop.slice.type);
  HostTensor state = operands[0];
  std::vector<uint8_t> rows;
  TensorShape row_shape;
  for (int64_t i = 0; i < loop.iterations; ++i) {
    const int64_t number = loop.reversed ? loop.iterations - 1 - i : i;
    const auto bytes = operands[1].bytes().subspan(
        static_cast<size_t>(number * kRowElements * width), loop.slice.byte_size());
    const auto made =
        *ir::EvaluateNaively(body, {state, HostTensor(loop.slice, bytes), operands[2]});
    state = made[0];
    row_shape = RowsOf(made[1].shape(), loop.iterations);
    rows.resize(static_cast<size_t>(row_shape.byte_size()));
    const auto begin =
        static_cast<size_t>(number) * rows.size() / static_cast<size_t>(loop.iterations);
    std::copy(made[1].bytes().begin(), made[1].bytes().end(), rows.begin() + begin);
  }
  return {state, HostTensor(row_shape, rows)};
}

TEST(HostLoops, EqualTheNaiveEvaluatorCalledOncePerIteration) {
  for (const LoopCase& loop : LoopCases()) {
    SCOPED_TRACE(loop.name);
    const std::vector<HostTensor> operands = OperandsOf(loop);
    const auto host = HostProgram::Create(PartsOfLoop(loop));
    ASSERT_TRUE(host.ok() && *host != nullptr) << host.status();
    const auto known = (*host)->Load({});
    ASSERT_TRUE(known.ok()) << known.status();
    const auto actual = (*host)->Run(*known, operands);
    ASSERT_TRUE(actual.ok()) << actual.status();
    const std::vector<HostTensor> expected = Naively(loop, operands);
    ASSERT_EQ(actual->size(), expected.size());
    for (size_t o = 0; o < expected.size(); ++o) {
      EXPECT_EQ((*actual)[o].shape(), expected[o].shape());
      EXPECT_TRUE((*actual)[o].bytes() == expected[o].bytes()) << "output " << o;
    }
  }
}

TEST(HostLoops, CostTheirBodyForEachIterationAndItsKernelsOnce) {
  LoopCase loop = LoopCases()[0];
  const auto milliseconds = [&](int64_t iterations) {
    loop.iterations = iterations;
    return (*HostProgram::Create(PartsOfLoop(loop)))->milliseconds();
  };
  EXPECT_NEAR(milliseconds(1000) / milliseconds(10), 100, 10);
  loop.iterations = 1'000'000;  // longer than compiling the kernels of one body
  EXPECT_FALSE((*HostProgram::Create(PartsOfLoop(loop)))->IsFasterThanKernels(1e9, 1));
}

TEST(HostLoops, SayWhichArgumentDoesNotFit) {
  HostParts parts = PartsOfLoop(LoopCases()[0]);
  parts.parts[0].arguments = {0, 1, 0};
  const absl::Status status = HostProgram::Create(std::move(parts)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "the argument of 'R' is float32[3, 5], which does not fit float32[5, 5]");
}

}  // namespace
}  // namespace tartan::evaluator
