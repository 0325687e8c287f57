// SPDX-License-Identifier: Apache-2.0
// Tests the table of passes and the cache key of a compilation.
#include "tile/compiler/passes/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/compiler/passes/run_passes.h"

namespace tartan::compiler {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

ir::Program Product() {
  return BindTestProgram(
      {"product",
       "function (A[M, K], B[K, N]) -> (C) { P[i, j : M, N] = +(A[i, k] * B[k, j]);"
       " C = relu(P); }",
       {{DataType::kFloat32, {8, 16}}, {DataType::kFloat32, {16, 4}}}});
}

TEST(Passes, HaveNamesOfTheirOwnAndSayWhy) {
  std::set<absl::string_view> names;
  for (const Pass& pass : Passes()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_FALSE(pass.why.empty()) << pass.name;
  }
}

TEST(Passes, AreDumpedAndTimedInTheirOrder) {
  std::vector<std::string> dumped;
  std::vector<std::string> timed;
  CompileHooks hooks;
  hooks.dump = [&](absl::string_view stage, absl::string_view) { dumped.emplace_back(stage); };
  hooks.timing = [&](absl::string_view pass, double ms) {
    EXPECT_GE(ms, 0);
    timed.emplace_back(pass);
  };
  ASSERT_TRUE(Compile(Product(), {}, hooks).ok());
  std::vector<std::string> expected;
  for (const Pass& pass : Passes()) expected.emplace_back(pass.name);
  EXPECT_EQ(timed, expected);
  for (const std::string& pass : expected) EXPECT_THAT(dumped, Contains(pass));
}

TEST(Passes, EndWithTheOneThatIsNamed) {
  std::vector<std::string> timed;
  CompileHooks hooks;
  hooks.stop_after = "analyze";
  hooks.timing = [&](absl::string_view pass, double) { timed.emplace_back(pass); };
  const auto list = Compile(Product(), {}, hooks);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(timed.back(), "analyze");
  EXPECT_TRUE(list->kernels.empty());
}

TEST(Passes, AreLeftOutByName) {
  CompileOptions options;
  EXPECT_EQ(Compile(Product(), options)->steps.size(), 1u);
  options.disabled_passes = {"fuse"};
  EXPECT_EQ(Compile(Product(), options)->steps.size(), 2u);
}

TEST(Passes, ThatAreNeededCannotBeLeftOut) {
  for (const char* name : {"analyze", "nonsense"}) {
    CompileOptions options;
    options.disabled_passes = {name};
    const auto list = Compile(Product(), options);
    ASSERT_FALSE(list.ok());
    EXPECT_EQ(list.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(list.status().message(), HasSubstr(name));
    EXPECT_THAT(list.status().message(), HasSubstr("fuse"));
  }
}

TEST(CompileOptions, HaveAKeyThatTellsEachOfThem) {
  std::vector<CompileOptions> different(1);
  const auto add = [&](auto change) { change(&different.emplace_back()); };
  add([](CompileOptions* o) { o->winograd = plan::Winograd::kNever; });
  add([](CompileOptions* o) { o->force_64bit_indices = true; });
  add([](CompileOptions* o) { o->in_float64 = true; });
  add([](CompileOptions* o) { o->memory_budget = 1 << 20; });
  add([](CompileOptions* o) { o->disabled_passes = {"fuse"}; });
  add([](CompileOptions* o) { o->disabled_passes = {"fuse", "winograd"}; });
  add([](CompileOptions* o) { o->settings.vector_width = 5; });
  add([](CompileOptions* o) { o->settings.max_work_item_sizes[2] = 5; });
  add([](CompileOptions* o) { o->settings.packs_unsigned = true; });
  add([](CompileOptions* o) { o->settings.multiplies_bfloat16 = true; });
  add([](CompileOptions* o) { o->settings.has_fma = false; });
  add([](CompileOptions* o) { o->settings.batches_launches = true; });
  add([](CompileOptions* o) { o->settings.prefers_one_stream = true; });
  add([](CompileOptions* o) { o->settings.hides_l2_latency = true; });
  add([](CompileOptions* o) { o->settings.matrix_local_bytes = 5; });
  add([](CompileOptions* o) { o->settings.matrix_rate = 5; });
  add([](CompileOptions* o) { o->settings.launch_us = 0.5; });
  std::set<std::string> keys;
  for (const CompileOptions& options : different) keys.insert(options.Key());
  EXPECT_EQ(keys.size(), different.size());
  EXPECT_EQ(CompileOptions().Key(), CompileOptions().Key());
}

// Row fusion at the end of a network must not change the layout of convolution weights: strided
// weights are slow for adjacent work-items.
TEST(Passes, KeepWeightsInTheirOrderWhereRowsAreChained) {
  CompileOptions options;
  options.settings.threads = 256;
  options.settings.max_work_group_size = 1024;
  options.settings.max_work_item_sizes = {1024, 1024, 64};
  options.settings.has_local_memory = true;
  options.settings.compute_units = 8;
  TestProgram network = {
      "network",
      "function (X[N, H, W, C], F[K, C, I, J]) -> (S) {"
      " O[n, y, x, k : N, H - I + 1, W - J + 1, K] = +(X[n, y + i, x + j, c] * F[k, c, i, j]);"
      " P[n, k : N, K] = +(O[n, y, x, k]);"
      " M[n, 0 : N, 1] = >(P[n, k]); E = exp(P - M); T[n, 0 : N, 1] = +(E[n, k]); S = E / T; }",
      {{DataType::kFloat32, {4, 12, 12, 16}}, {DataType::kFloat32, {40, 16, 3, 3}}}};
  ir::Program program = BindTestProgram(network);
  std::get<ir::Input>(program.values[program.inputs[1]].op).is_constant = true;
  const auto list = Compile(program, options);
  ASSERT_TRUE(list.ok()) << list.status();
  std::vector<std::string> persistent;
  for (const BufferInfo& buffer : list->buffers) {
    if (buffer.kind == BufferKind::kPersistent) persistent.push_back(buffer.name);
  }
  EXPECT_THAT(persistent, Contains(HasSubstr("channels_last")));
}

// Returns the compiler's table with a pass added after the named one.
std::vector<Pass> TableWith(absl::string_view name, absl::string_view added,
                            absl::Status (*run)(Compilation*)) {
  std::vector<Pass> table;
  for (const Pass& pass : Passes()) {
    table.push_back(pass);
    if (pass.name == name) table.push_back({added, run, false, "breaks something"});
  }
  EXPECT_EQ(table.size(), Passes().size() + 1) << name;
  return table;
}

absl::Status RunTable(const std::vector<Pass>& table, bool verify) {
  CompileHooks hooks;
  hooks.verify_passes = verify;
  const CompileOptions options;
  Compilation compilation{options, hooks, Product()};
  return RunPasses(table, &compilation);
}

std::string ComplaintWith(absl::string_view name, absl::string_view added,
                          absl::Status (*run)(Compilation*)) {
  const absl::Status status = RunTable(TableWith(name, added, run), /*verify=*/true);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
  return std::string(status.message());
}

absl::Status WidenLastValue(Compilation* c) {
  ++c->program.values.back().shape.dims[0];
  return absl::OkStatus();
}

TEST(VerifiedPasses, AcceptTheTableItself) {
  const std::vector<Pass> table(Passes().begin(), Passes().end());
  EXPECT_TRUE(RunTable(table, /*verify=*/true).ok()) << RunTable(table, /*verify=*/true);
}

TEST(VerifiedPasses, NameTheOneThatBreaksTheProgram) {
  EXPECT_THAT(ComplaintWith("channels-last", "widen-last", WidenLastValue),
              AllOf(StartsWith("wrong after 'widen-last': value 3"),
                    HasSubstr("[9, 4], but the operation gives float32[8, 4]")));
}

TEST(VerifiedPasses, NameTheProgramThatWasWrongBeforeThem) {
  CompileHooks hooks;
  hooks.verify_passes = true;
  ir::Program program = Product();
  ++program.values.back().shape.dims[0];
  const absl::Status status = Compile(program, {}, hooks).status();
  EXPECT_THAT(std::string(status.message()), StartsWith("wrong after 'program'"));
}

TEST(VerifiedPasses, NameTheOneThatLeavesAnAnalysisOfAnotherProgram) {
  const auto add_value = [](Compilation* c) {
    c->program.values.push_back(c->program.values.back());
    return absl::OkStatus();
  };
  EXPECT_EQ(ComplaintWith("analyze", "add-value", add_value),
            "wrong after 'add-value': index spaces: 4 values, but the program has 5");
}

TEST(VerifiedPasses, NameTheOneThatSelectsAnAlgorithmForSomethingElse) {
  const auto select = [](Compilation* c) {
    c->algorithms[c->program.inputs[0]] = WinogradAlgorithm{4};
    return absl::OkStatus();
  };
  EXPECT_EQ(ComplaintWith("winograd", "select", select),
            "wrong after 'select': an algorithm is selected for A, which is not a contraction");
}

TEST(VerifiedPasses, NameTheStageThatMakesWrongLoops) {
  const auto confuse_types = [](Compilation* c) {
    auto& launch = std::get<PlannedLaunch>(c->schedule.steps[0].work);
    poly::Expr body = *launch.planned.flat.body;
    std::get<poly::Apply>(body.node).op = ScalarOp::kBitXor;
    launch.planned.flat.body = std::make_shared<const poly::Expr>(body);
    return absl::OkStatus();
  };
  EXPECT_THAT(ComplaintWith("plan-kernels", "confuse-types", confuse_types),
              AllOf(StartsWith("wrong after 'loops': kernel k0_"),
                    HasSubstr("is not defined for float32")));
}

TEST(VerifiedPasses, NameTheOneThatBreaksAKernel) {
  const auto forget = [](Compilation* c) {
    c->list.kernels[0].parameters.pop_back();
    return absl::OkStatus();
  };
  EXPECT_THAT(ComplaintWith("write-kernels", "forget-parameter", forget),
              AllOf(StartsWith("wrong after 'forget-parameter': kernel k0_"),
                    HasSubstr("is not a buffer or array in scope")));
}

TEST(VerifiedPasses, AreVerifiedOnlyWhereHooksAsk) {
  const std::vector<Pass> table = TableWith("share-kernels", "widen-last", WidenLastValue);
  EXPECT_FALSE(RunTable(table, /*verify=*/true).ok());
  EXPECT_TRUE(RunTable(table, /*verify=*/false).ok());
}

}  // namespace
}  // namespace tartan::compiler
