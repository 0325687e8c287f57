// SPDX-License-Identifier: Apache-2.0
// Tests fused attention with online softmax, which loops over blocks of keys: when it is used, and
// that results agree with the naive evaluator, including NaN and infinities.
#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tests/tile/compiler/attention_programs.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"

namespace tartan::compiler::online_rows_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

CompileOptions ForGpu(int64_t threads = 64) {
  CompileOptions options;
  options.settings = LongAttentionSettings();
  options.settings.threads = options.settings.max_work_group_size = threads;
  options.memory_budget = 1;  // forbids scores in memory, even if they are faster
  return options;
}

bool IsWalk(const LaunchStep& step) {
  return absl::StrContains(step.plan, "each row in blocks of");
}

// Counts the launches, and among them the ones with online softmax (`walks`).
struct Launches {
  int walks = 0;
  int all = 0;
  bool operator==(const Launches&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Launches& launches) {
  return out << launches.walks << " walks of " << launches.all << " launches";
}

Launches LaunchesOf(const TestProgram& program, const CompileOptions& options) {
  CompileHooks hooks;
  hooks.describes_launches = true;
  const auto list = Compile(BindTestProgram(program), options, hooks);
  EXPECT_TRUE(list.ok()) << list.status();
  Launches launches;
  if (!list.ok()) return launches;
  for (const Step& step : list->steps) {
    const auto* launch = std::get_if<LaunchStep>(&step);
    launches.walks += launch != nullptr && IsWalk(*launch) ? 1 : 0;
    ++launches.all;
  }
  return launches;
}

// Replaces some elements of one input.
std::vector<HostTensor> With(std::vector<HostTensor> inputs, size_t input,
                             const std::vector<std::pair<int64_t, double>>& numbers) {
  const TensorShape shape = inputs[input].shape();
  std::vector<float> values(shape.element_count());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(inputs[input].GetDouble(static_cast<int64_t>(i)));
  }
  for (const auto& [at, number] : numbers) values[at] = static_cast<float>(number);
  inputs[input] = HostTensor::FromVector(shape, values);
  return inputs;
}

class OnlineRowsTest : public testing::TestWithParam<AttentionProgram> {
 protected:
  const TestProgram& program() const { return GetParam().program; }
  void Check(const CompileOptions& options, const std::vector<HostTensor>& inputs) {
    EXPECT_EQ(LaunchesOf(program(), options), (Launches{1, 1}));
    ExpectNaiveLaunches(program(), options, inputs, 1, 2e-3);
  }
};

TEST_P(OnlineRowsTest, EqualTheNaiveEvaluator) { Check(ForGpu(), RandomInputs(program(), 1)); }

TEST_P(OnlineRowsTest, EqualTheNaiveEvaluatorWithManyWorkItemsAndWideIndices) {
  CompileOptions options = ForGpu(256);
  options.settings.local_memory_bytes = 6 << 10;
  options.force_64bit_indices = true;
  Check(options, RandomInputs(program(), 2));
}

INSTANTIATE_TEST_SUITE_P(All, OnlineRowsTest, testing::ValuesIn(LongAttentionPrograms()),
                         [](const auto& info) { return info.param.program.name; });

// Later blocks have larger maxima, then smaller ones.
TEST(OnlineSoftmax, FollowTheGreatestElement) {
  for (const double slope : {0.03, -0.03}) {
    const TestProgram program = {"Slope",
                                 "function (Q[H, T, D], K[H, U, D], V[H, U, D], R[U]) -> (O) { "
                                 "P[h, t, u : H, T, U] = +(Q[h, t, d] * K[h, u, d]); L = P + R; "
                                 "M[h, t, 0 : H, T, 1] = >(L[h, t, u]); E = exp(L - M); "
                                 "S[h, t, 0 : H, T, 1] = +(E[h, t, u]); W = E / S; "
                                 "O[h, t, d : H, T, D] = +(W[h, t, u] * V[h, u, d]); }",
                                 {{DataType::kFloat32, {2, 3, 8}},
                                  {DataType::kFloat32, {2, 1700, 8}},
                                  {DataType::kFloat32, {2, 1700, 8}},
                                  {DataType::kFloat32, {1700}}}};
    std::vector<std::pair<int64_t, double>> ramp;
    for (int64_t u = 0; u < 1700; ++u) ramp.emplace_back(u, static_cast<double>(u) * slope);
    const std::vector<HostTensor> inputs = With(RandomInputs(program, 3), 3, ramp);
    EXPECT_EQ(LaunchesOf(program, ForGpu()), (Launches{1, 1}));
    ExpectNaiveLaunches(program, ForGpu(), inputs, 1, 0);
  }
}

const AttentionProgram& Named(const std::string& name) {
  for (const AttentionProgram& program : LongAttentionPrograms()) {
    if (program.program.name == name) return program;
  }
  ADD_FAILURE() << name;
  return LongAttentionPrograms()[0];
}

// Puts NaN, infinities and huge values into queries, keys and values: in the first, a middle and
// the partial last block.
TEST(OnlineSoftmax, TakeNumbersThatAreNone) {
  const TestProgram& odd = Named("LongOdd").program;
  const std::vector<HostTensor> inputs = RandomInputs(odd, 4);
  const int64_t row = 12;
  for (size_t input = 0; input < 3; ++input) {
    const int64_t count = inputs[input].shape().element_count();
    for (const double number : {kNan, kInfinity, -kInfinity, 3e38}) {
      for (const int64_t at : {int64_t{3}, count / 6 / row * row + 1, count - 1}) {
        ExpectNaiveLaunches(odd, ForGpu(), With(inputs, input, {{at, number}}), 1, 0);
      }
    }
  }
}

// Masks whole blocks with extreme values, so that a running maximum is -inf or a sum is NaN.
TEST(OnlineSoftmax, TakeMasksOfAnyNumber) {
  const TestProgram& masked = Named("LongMasked").program;
  const std::vector<HostTensor> inputs = RandomInputs(masked, 5);
  const int64_t keys = 1543;
  for (const double number : {-kInfinity, kInfinity, kNan, -1e9, -3.4e38}) {
    std::vector<std::pair<int64_t, double>> numbers;
    // Masks all keys of the first row, the first 1400 of the second, all after 100 of the third,
    // and one key of the fourth.
    for (int64_t u = 0; u < keys; ++u) {
      numbers.emplace_back(u, number);
      if (u < 1400) numbers.emplace_back(keys + u, number);
      if (u > 100) numbers.emplace_back(2 * keys + u, number);
    }
    numbers.emplace_back(3 * keys + 700, number);
    ExpectNaiveLaunches(masked, ForGpu(), With(inputs, 3, numbers), 1, 0);
  }
}

// `between` computes the weights W from the scores P.
TestProgram AttentionOf(const std::string& between, int64_t heads, int64_t queries, int64_t keys,
                        const std::string& outputs = "O", int64_t depth = 8) {
  return {"",
          "function (Q[H, T, D], K[H, U, D], V[H, U, D]) -> (" + outputs +
              ") { P[h, t, u : H, T, U] = +(Q[h, t, d] * K[h, u, d]); " + between +
              "O[h, t, d : H, T, D] = +(W[h, t, u] * V[h, u, d]); }",
          {F32({heads, queries, depth}), F32({heads, keys, depth}), F32({heads, keys, depth})}};
}

constexpr char kSoftmax[] =
    "M[h, t, 0 : H, T, 1] = >(P[h, t, u]); E = exp(P - M); S[h, t, 0 : H, T, 1] = +(E[h, t, u]); "
    "W = E / S; ";

constexpr char kScaledSoftmax[] =
    "L = P * 0.125; M[h, t, 0 : H, T, 1] = >(L[h, t, u]); E = exp(L - M); "
    "S[h, t, 0 : H, T, 1] = +(E[h, t, u]); W = E / S; ";

// Online softmax requires exponentials of differences from the same row's maximum, and weights that
// are only summed. Every other form is rejected.
TEST(OnlineSoftmax, HaveNoOtherForm) {
  const std::string maximum = "M[h, t, 0 : H, T, 1] = >(P[h, t, u]); ";
  const std::string sum = "S[h, t, 0 : H, T, 1] = +(E[h, t, u]); ";
  for (const std::string& between : std::vector<std::string>{
           maximum + "E = exp(2 * P - M); " + sum + "W = E / S; ",
           maximum + "E = exp(P + M); " + sum + "W = E / S; ",
           maximum + "E = exp(P - M) + 1; " + sum + "W = E / S; ",
           maximum + "E = P - M; " + sum + "W = E / S; ",
           maximum + "E = exp(P - M); " + sum + "W = E * M / S; ",
           maximum + "E = exp(P - M); " + sum + "W = sqrt(E) / S; ",
           maximum + "E = exp(P - M); " + sum + "W = S / E; ",
           maximum + "E = exp(P - M); " + sum + "W = E / S + 0.5; ",
           maximum + "E = exp(P - M); S[h, t, 0 : H, T, 1] = >(E[h, t, u]); W = E / S; ",
           "M[h, t, 0 : H, T, 1] = <(P[h, t, u]); E = exp(P - M); " + sum + "W = E / S; "}) {
    const TestProgram program = AttentionOf(between, 2, 3, 1600);
    EXPECT_EQ(LaunchesOf(program, ForGpu()).walks, 0) << between;
  }
  EXPECT_EQ(LaunchesOf(AttentionOf(kSoftmax, 2, 3, 1600), ForGpu()), (Launches{1, 1}));
  for (const char* outputs : {"O, W", "O, P", "O, E", "O, M"}) {
    EXPECT_EQ(LaunchesOf(AttentionOf(kSoftmax, 2, 3, 1600, outputs), ForGpu()).walks, 0) << outputs;
  }
}

// Options that allow scores in memory if they are faster and fit `budget`.
CompileOptions ForLargeGpu(int64_t budget = 0) {
  CompileOptions options;
  options.settings = LargeGpuSettings();
  options.memory_budget = budget;
  return options;
}

TEST(OnlineSoftmax, AreWalkedWhereScoresWouldTakeTooMuchMemory) {
  const auto attention = [](int64_t heads, int64_t queries, int64_t keys, int64_t budget = 0) {
    return LaunchesOf(AttentionOf(kScaledSoftmax, heads, queries, keys, "O", 64),
                      ForLargeGpu(budget));
  };
  // The scores of these cases take 805 MB and 12.9 GB.
  EXPECT_EQ(attention(12, 4096, 4096).walks, 0);
  EXPECT_EQ(attention(12, 4096, 4096, /*budget=*/int64_t{600} << 20), (Launches{1, 1}));
  EXPECT_EQ(attention(12, 16384, 16384), (Launches{1, 1}));
  EXPECT_EQ(attention(12, 16387, 16387), (Launches{1, 1}));
  // Rows fit local memory whole.
  EXPECT_EQ(attention(12, 128, 128), (Launches{0, 1}));
  EXPECT_EQ(attention(12, 1, 129), (Launches{0, 1}));
  EXPECT_EQ(attention(12, 1, 16384).walks, 0);
}

TEST(OnlineSoftmax, NeedNoMemoryForScores) {
  const auto bytes = [](bool chains) {
    CompileOptions options = ForLargeGpu(/*budget=*/1);
    if (!chains) options.disabled_passes.insert("fuse-attention");
    const auto list =
        Compile(BindTestProgram(AttentionOf(kScaledSoftmax, 12, 4096, 4096, "O", 64)), options);
    EXPECT_TRUE(list.ok()) << list.status();
    std::set<int> used;
    for (const Step& step : list->steps) {
      const StepBuffers buffers = BuffersOf(*list, step);
      used.insert(buffers.read.begin(), buffers.read.end());
      used.insert(buffers.written.begin(), buffers.written.end());
    }
    int64_t sum = 0;
    for (int buffer : used) sum += list->buffers[buffer].bytes;
    return sum;
  };
  const int64_t operands = 4 * 12 * 4096 * 64 * int64_t{4};
  EXPECT_EQ(bytes(true), operands);
  EXPECT_GE(bytes(false), operands + 12 * 4096 * 4096 * int64_t{4});
}

}  // namespace
}  // namespace tartan::compiler::online_rows_test
