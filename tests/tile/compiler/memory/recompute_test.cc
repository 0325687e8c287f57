// SPDX-License-Identifier: Apache-2.0
// Tests rematerialization: results stay the same, peak memory shrinks, and no value is recomputed
// from an operand that has changed. TARTAN_LONG_TESTS sets the number of random programs (default
// 60), TARTAN_TEST_SEED the first seed.
#include "tile/compiler/memory/recompute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/compiler/step_lists.h"
#include "tile/compiler/compiler.h"
#include "tile/compiler/verify_list.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::compiler::recompute_test {
namespace {

constexpr DataType kFloat = DataType::kFloat32;

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

// A list in which one value is computed first and read last, with other values in between.
struct Waiting {
  KernelList list;
  int source = 0;
  int value = 0;
  int result = 0;

  explicit Waiting(BufferKind kind) {
    source = AddBuffer(kind, &list);
    value = AddBuffer(BufferKind::kTemporary, &list);
    result = AddBuffer(BufferKind::kOutput, &list);
    const int other = AddBuffer(BufferKind::kTemporary, &list);
    const int third = AddBuffer(BufferKind::kTemporary, &list);
    list.inputs = {source};
    list.outputs = {result};
    list.output_shapes = {list.buffers[result].shape};
    list.steps = {CopyStep{source, value}, FillStep{other, kFloat, 1}, CopyStep{other, third},
                  CopyStep{value, result}};
  }
};

TEST(Recompute, MakesAgainWhatWaits) {
  Waiting waiting(BufferKind::kState);
  ASSERT_EQ(Peak(waiting.list), 3 * kBytes);
  Recompute(ResidentBytes(waiting.list) + 2 * kBytes, {}, &waiting.list);
  EXPECT_EQ(Peak(waiting.list), 2 * kBytes);
  EXPECT_EQ(waiting.list.steps.size(), 5u);
  EXPECT_EQ(waiting.list.recomputed.steps, 1);
  EXPECT_EQ(waiting.list.recomputed.saved_bytes, kBytes);
  EXPECT_GT(waiting.list.recomputed.us, 0);
  EXPECT_EQ(Simulate(waiting.list)[waiting.result], -1 - waiting.source);
}

TEST(Recompute, LeavesWhatIsWithinTheBudget) {
  Waiting waiting(BufferKind::kState);
  Recompute(ResidentBytes(waiting.list) + 3 * kBytes, {}, &waiting.list);
  EXPECT_EQ(waiting.list.steps.size(), 4u);
  EXPECT_EQ(waiting.list.recomputed, RecomputedSteps());
}

TEST(RecomputeCheapValues, RecomputesWhatTakesALimitedShareOfTheTime) {
  Waiting waiting(BufferKind::kState);
  RecomputeCheapValues({3 * kBytes, 0.125, 0.5}, {}, &waiting.list);
  EXPECT_EQ(Peak(waiting.list), 2 * kBytes);
  EXPECT_EQ(waiting.list.recomputed.steps, 1);
  EXPECT_EQ(waiting.list.recomputed.saved_bytes, kBytes);
  EXPECT_EQ(Simulate(waiting.list)[waiting.result], -1 - waiting.source);
}

// The value is a copy: one of four steps, none of which takes longer.
TEST(RecomputeCheapValues, KeepsWhatTakesALargerShareOfTheTime) {
  Waiting waiting(BufferKind::kState);
  RecomputeCheapValues({0, 0.125, 0.125}, {}, &waiting.list);
  EXPECT_EQ(waiting.list.recomputed, RecomputedSteps());
}

TEST(RecomputeCheapValues, KeepsAllValuesBelowTheLowestPeak) {
  Waiting waiting(BufferKind::kState);
  RecomputeCheapValues({3 * kBytes + 1, 0.125, 0.5}, {}, &waiting.list);
  EXPECT_EQ(waiting.list.recomputed, RecomputedSteps());
}

TEST(Recompute, MakesNothingOfAStateThatHasChanged) {
  Waiting waiting(BufferKind::kState);
  waiting.list.steps.insert(waiting.list.steps.begin() + 3, FillStep{waiting.source, kFloat, 7});
  Recompute(1, {}, &waiting.list);
  EXPECT_EQ(Peak(waiting.list), 3 * kBytes);
  EXPECT_EQ(Simulate(waiting.list)[waiting.result], -1 - waiting.source);
}

// A fill and a copy write the value; both steps must be repeated.
TEST(Recompute, DoesAllAgainThatWritesAValue) {
  Waiting waiting(BufferKind::kState);
  waiting.list.steps.insert(waiting.list.steps.begin(), FillStep{waiting.value, kFloat, 3});
  Recompute(ResidentBytes(waiting.list) + 2 * kBytes, {}, &waiting.list);
  EXPECT_EQ(waiting.list.recomputed.steps, 2);
  EXPECT_EQ(Simulate(waiting.list)[waiting.result], -1 - waiting.source);
}

TEST(Recompute, LeavesAValueThatIsWrittenBetweenItsReaders) {
  KernelList list;
  const int value = AddBuffer(BufferKind::kTemporary, &list);
  const int first = AddBuffer(BufferKind::kOutput, &list);
  const int second = AddBuffer(BufferKind::kOutput, &list);
  const int other = AddBuffer(BufferKind::kTemporary, &list);
  list.outputs = {first, second};
  list.steps = {FillStep{value, kFloat, 1}, CopyStep{value, first}, FillStep{value, kFloat, 2},
                FillStep{other, kFloat, 3}, CopyStep{value, second}};
  Recompute(1, {}, &list);
  EXPECT_EQ(list.steps.size(), 5u);
}

TEST(Recompute, LeavesWhatRandomStepsCompute) {
  int rematerialized = 0;
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    KernelList list;
    const BufferKind kinds[] = {BufferKind::kTemporary, BufferKind::kTemporary,
                                BufferKind::kTemporary, BufferKind::kTemporary,
                                BufferKind::kState,     BufferKind::kInput,
                                BufferKind::kOutput};
    const int count = 20;
    for (int b = 0; b < count; ++b) {
      const int buffer = AddBuffer(kinds[random() % 7], &list);
      list.buffers[buffer].bytes = kBytes * (1 + random() % 8);
      if (list.buffers[buffer].kind == BufferKind::kOutput) list.outputs.push_back(buffer);
    }
    for (int s = 0; s < 40; ++s) {
      const auto from = static_cast<int>(random() % count);
      // Most temporaries are written once, as the compiler does.
      const auto to = static_cast<int>(s < count ? s : random() % count);
      if (list.buffers[to].kind == BufferKind::kInput) continue;
      if (from == to || random() % 4 == 0) {
        list.steps.push_back(FillStep{to, kFloat, static_cast<double>(s)});
      } else {
        list.steps.push_back(CopyStep{from, to});
      }
    }
    const std::vector<double> expected = Simulate(list);
    const int64_t peak = Peak(list);
    const KernelList before = list;
    Recompute(ResidentBytes(list) + static_cast<int64_t>(random() % (peak + 1)), {}, &list);
    const std::vector<double> held = Simulate(list);
    for (int b = 0; b < count; ++b) {
      if (list.buffers[b].kind == BufferKind::kTemporary) continue;
      EXPECT_EQ(held[b], expected[b]) << b;
    }
    EXPECT_EQ(peak - Peak(list), list.recomputed.saved_bytes);
    EXPECT_EQ(list.steps.size(), before.steps.size() + list.recomputed.steps);
    EXPECT_GE(list.recomputed.saved_bytes, 0);
    rematerialized += list.recomputed.steps > 0 ? 1 : 0;
  }
  EXPECT_GT(rematerialized, 50);
}

// Random training steps as text: a forward pass through layers of all kinds, then the layers in
// reverse. Gradients read the layers' results, and parameters are states that change.
class RandomStep {
 public:
  explicit RandomStep(uint64_t seed) : random_(seed) {
    rows_ = 2 + Below(7);
    width_ = 4 * (1 + Below(5));
    const int layers = 3 + Below(6);
    AddInput("X", {rows_, width_}, -1);
    std::string value = "X";
    for (int l = 0; l < layers; ++l) value = AppendLayer(value, l);
    absl::StrAppend(&text_, "G", layers, " = ", value, " - X;\n");
    for (int l = layers; l-- > 0;) AppendGradient(l);
    absl::StrAppend(&text_, "L[] = +(", value, "[i, j] * G0[i, j]);\n");
    outputs_.push_back("L");
    std::string code = "function (";
    for (size_t i = 0; i < inputs_.size(); ++i)
      absl::StrAppend(&code, i > 0 ? ", " : "", inputs_[i]);
    absl::StrAppend(&code, ") -> (");
    for (size_t o = 0; o < outputs_.size(); ++o)
      absl::StrAppend(&code, o > 0 ? ", " : "", outputs_[o]);
    program_.name = "step";
    program_.code = absl::StrCat(code, ") {\n", text_, "}");
    program_.low = -1;
    program_.high = 1;
  }

  const TestProgram& program() const { return program_; }
  // For each input the output that is its next value, or -1.
  const std::vector<int>& next() const { return next_; }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

  void AddInput(const std::string& name, std::vector<int64_t> dims, int next) {
    inputs_.push_back(name);
    program_.inputs.push_back({kFloat, std::move(dims)});
    next_.push_back(next);
  }

  std::string AppendLayer(const std::string& x, int l) {
    const std::string y = absl::StrCat("H", l);
    kinds_.push_back(Below(7));
    operands_.push_back(x);
    const std::string sizes = absl::StrCat(rows_, ", ", width_);
    switch (kinds_.back()) {
      case 0:  // a matmul with a parameter
      case 1:
        AddInput(absl::StrCat("W", l), {width_, width_}, static_cast<int>(outputs_.size()));
        outputs_.push_back(absl::StrCat("N", l));
        absl::StrAppend(&text_, "P", l, "[i, j : ", sizes, "] = +(", x, "[i, k] * W", l,
                        "[k, j]);\n", y, " = tanh(P", l, ");\n");
        break;
      case 2:  // a normalization over columns
        absl::StrAppend(&text_, "M", l, "[0, j : 1, ", width_, "] = +(", x, "[i, j]);\n", y, " = ",
                        x, " - M", l, " / ", rows_, ";\n");
        break;
      case 3:  // a softmax
        absl::StrAppend(&text_, "A", l, "[i, 0 : ", rows_, ", 1] = >(", x, "[i, j]);\nE", l,
                        " = exp(", x, " - A", l, ");\nS", l, "[i, 0 : ", rows_, ", 1] = +(E", l,
                        "[i, j]);\n", y, " = E", l, " / S", l, ";\n");
        break;
      case 4:  // dropout
        absl::StrAppend(&text_, "R", l, " = prng(", 3 + l, ", ", sizes, ");\n", y, " = R", l,
                        " < 0.5 ? ", x, " * 2 : 0;\n");
        break;
      case 5:  // a value written in two parts
        absl::StrAppend(&text_, "Q", l, " = ", x, " * 0.5;\nC", l, "[i, j : ", sizes, "] = =(", x,
                        "[i, j]), j < ", width_ / 2, ";\nD", l, "[i, j + ", width_ / 2, " : ",
                        sizes, "] = =(Q", l, "[i, j]), j < ", width_ / 2, ";\n", y, " = C", l,
                        " + D", l, ";\n");
        break;
      default:
        absl::StrAppend(&text_, y, " = relu(", x, ") + 0.1 * sin(", x, ");\n");
    }
    return y;
  }

  // Computes G(l) from G(l + 1). The formula is not the derivative but reads the same values.
  void AppendGradient(int l) {
    const std::string g = absl::StrCat("G", l + 1);
    const std::string& x = operands_[l];
    const std::string sizes = absl::StrCat(rows_, ", ", width_);
    if (kinds_[l] <= 1) {
      absl::StrAppend(&text_, "B", l, " = ", g, " * (1 - H", l, " * H", l, ");\nU", l,
                      "[k, j : ", width_, ", ", width_, "] = +(", x, "[i, k] * B", l, "[i, j]);\nN",
                      l, " = W", l, " - 0.01 * U", l, ";\nG", l, "[i, k : ", sizes, "] = +(B", l,
                      "[i, j] * W", l, "[k, j]);\n");
    } else {
      absl::StrAppend(&text_, "G", l, " = ", g, " * (H", l, " + cos(", x, ")) * 0.5;\n");
    }
  }

  std::mt19937_64 random_;
  int64_t rows_ = 0;
  int64_t width_ = 0;
  std::vector<int> kinds_;             // per layer
  std::vector<std::string> operands_;  // per layer
  std::string text_;
  std::vector<std::string> inputs_;
  std::vector<std::string> outputs_;
  std::vector<int> next_;
  TestProgram program_;
};

KernelList CompileStep(const RandomStep& step, const CompileOptions& options) {
  ir::Program bound = BindTestProgram(step.program());
  for (size_t i = 0; i < step.next().size(); ++i) {
    if (step.next()[i] < 0) continue;
    std::get<ir::Input>(bound.values[bound.inputs[i]].op) = {.is_state = true,
                                                             .next = step.next()[i]};
  }
  auto list = Compile(bound, options);
  EXPECT_TRUE(list.ok()) << list.status() << "\n" << step.program().code;
  return *std::move(list);
}

bool WritesInputs(const KernelList& list) {
  return std::any_of(list.steps.begin(), list.steps.end(), [&](const Step& step) {
    const std::vector<int> written = BuffersOf(list, step).written;
    return std::any_of(written.begin(), written.end(),
                       [&](int buffer) { return list.buffers[buffer].kind == BufferKind::kInput; });
  });
}

TEST(Recompute, GivesRandomStepsOfTrainingTheSameBits) {
  const auto first = static_cast<uint64_t>(FromEnvironment("TARTAN_TEST_SEED", 1));
  const auto count = static_cast<uint64_t>(FromEnvironment("TARTAN_LONG_TESTS", 60));
  int rematerialized = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RandomStep step(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", step.program().code));
    std::mt19937_64 random(seed);
    CompileOptions options;
    if (random() % 2 == 0) options.tier = Tier::kReady;
    if (random() % 4 == 0) options.disabled_passes = {"fuse"};
    const KernelList kept = CompileStep(step, options);
    const int64_t peak = Peak(kept);
    const std::vector<HostTensor> inputs = RandomInputs(step.program(), seed);
    const auto naive = ir::EvaluateNaively(BindTestProgram(step.program()), inputs);
    ASSERT_TRUE(naive.ok()) << naive.status();
    const auto expected = InterpretList(kept, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status();
    for (int i = 0; i < 3; ++i) {
      // The first budget is the minimum: one byte more than the resident buffers.
      const int64_t of_runs = i == 0 ? 1 : static_cast<int64_t>(random() % peak);
      options.memory_budget = ResidentBytes(kept) + of_runs;
      const KernelList list = CompileStep(step, options);
      EXPECT_EQ(VerifyList(list), absl::OkStatus());
      EXPECT_EQ(peak - Peak(list), list.recomputed.saved_bytes);
      EXPECT_GE(list.recomputed.saved_bytes, 0);
      EXPECT_FALSE(WritesInputs(list));
      rematerialized += list.recomputed.steps;
      const auto actual = InterpretList(list, inputs);
      ASSERT_TRUE(actual.ok()) << actual.status();
      for (size_t o = 0; o < expected->size(); ++o) {
        EXPECT_EQ((*actual)[o].bytes(), (*expected)[o].bytes()) << "output " << o;
        EXPECT_EQ(FirstDifference((*actual)[o], (*naive)[o], 1e-4), "") << "output " << o;
      }
    }
  }
  EXPECT_GT(rematerialized, static_cast<int>(count));
}

// The minimum that an infeasible budget reports is feasible as a budget.
TEST(Recompute, MeetsTheLeastThatAHopelessBudgetEndsWith) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const RandomStep step(seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", step.program().code));
    CompileOptions options;
    options.memory_budget = 1;
    const KernelList least = CompileStep(step, options);
    options.memory_budget = ResidentBytes(least) + Peak(least);
    EXPECT_EQ(Peak(CompileStep(step, options)), Peak(least));
  }
}

}  // namespace
}  // namespace tartan::compiler::recompute_test
