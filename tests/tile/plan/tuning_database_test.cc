// SPDX-License-Identifier: Apache-2.0
#include "tile/plan/store/tuning_database.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "proto/plan.pb.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/plan/select/select_plan.h"
#include "tile/plan/store/stored_plan.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::plan {
namespace {

HardwareSettings Cpu() { return HardwareSettings(); }

HardwareSettings Gpu() { return TestGpu(256, 4); }

struct Kernel {
  poly::FlatContraction flat;
  std::vector<bool> is_constant;
};

// Returns every kernel of a program as the planner receives it.
std::vector<Kernel> KernelsOf(const TestProgram& program) {
  std::vector<Kernel> kernels;
  compiler::CompileOptions options;
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
    kernels.push_back({flat, launch.is_constant});
    return PlanKernel(flat, Cpu(), launch);
  };
  EXPECT_TRUE(compiler::Compile(BindTestProgram(program), options, hooks).ok());
  return kernels;
}

TestProgram Product(const std::string& type = "float32") {
  const DataType element = DataTypeFromName(type);
  return {"product",
          "function (A[M, K], B[K, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }",
          {{element, {24, 40}}, {element, {40, 32}}}};
}

Kernel ProductKernel(const std::string& type = "float32") { return KernelsOf(Product(type)).at(0); }

void ExpectEqual(const PlannedKernel& actual, const PlannedKernel& expected) {
  EXPECT_EQ(actual.plan, expected.plan);
  EXPECT_EQ(poly::ToString(actual.flat), poly::ToString(expected.flat));
  ASSERT_EQ(actual.packed.size(), expected.packed.size());
  for (size_t p = 0; p < actual.packed.size(); ++p) {
    EXPECT_EQ(actual.packed[p].tensor, expected.packed[p].tensor);
    EXPECT_EQ(actual.packed[p].source, expected.packed[p].source);
    EXPECT_EQ(poly::ToString(actual.packed[p].copy), poly::ToString(expected.packed[p].copy));
  }
}

class EveryProgram : public testing::TestWithParam<TestProgram> {};

TEST_P(EveryProgram, KeepsWhatThePlannerProposes) {
  for (const Kernel& kernel : KernelsOf(GetParam())) {
    for (const auto& [settings, count] : {std::pair(Cpu(), 8), std::pair(Gpu(), 2)}) {
      for (const PlannedKernel& candidate :
           PlanCandidates(kernel.flat, settings, {kernel.is_constant}, count)) {
        TuningDatabase book;
        ASSERT_TRUE(book.Keep(kernel.flat, settings, kernel.is_constant, candidate, 1, 2))
            << poly::ToString(kernel.flat) << plan::ToString(candidate.plan, candidate.flat);
        const auto found =
            TuningDatabase::Parse(book.Serialize()).Find(kernel.flat, settings, kernel.is_constant);
        ASSERT_TRUE(found.has_value());
        ExpectEqual(*found, candidate);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, EveryProgram, testing::ValuesIn(TestPrograms()),
                         [](const auto& test) { return test.param.name; });

TEST(TuningDatabase, KeepsPlansOfWorkGroups) {
  const Kernel kernel = ProductKernel();
  const auto plans = PlanCandidates(kernel.flat, Gpu(), {kernel.is_constant}, 4);
  ASSERT_GT(plans.size(), 1u);
  for (const PlannedKernel& planned : plans) {
    ASSERT_TRUE(std::holds_alternative<GpuPlan>(planned.plan));
    TuningDatabase book;
    ASSERT_TRUE(book.Keep(kernel.flat, Gpu(), kernel.is_constant, planned, 1, 2));
    ExpectEqual(*book.Find(kernel.flat, Gpu(), kernel.is_constant), planned);
    // A GPU's plan must not apply to a CPU.
    EXPECT_FALSE(book.Find(kernel.flat, Cpu(), kernel.is_constant).has_value());
  }
}

TEST(TuningDatabase, IsEmptyOfBytesThatAreNone) {
  const Kernel kernel = ProductKernel();
  TuningDatabase book;
  ASSERT_TRUE(book.Keep(kernel.flat, Cpu(), kernel.is_constant,
                        PlanKernel(kernel.flat, Cpu(), {kernel.is_constant}), 1, 2));
  const std::string bytes = book.Serialize();
  EXPECT_EQ(TuningDatabase::Parse(bytes).size(), 1u);
  EXPECT_EQ(TuningDatabase::Parse("").size(), 0u);
  EXPECT_EQ(TuningDatabase::Parse("nonsense").size(), 0u);
  EXPECT_EQ(TuningDatabase::Parse(bytes.substr(0, bytes.size() / 2)).size(), 0u);
  proto::TuningDatabase other;
  ASSERT_TRUE(other.ParseFromString(bytes));
  other.set_version(other.version() + 1);
  EXPECT_EQ(TuningDatabase::Parse(other.SerializeAsString()).size(), 0u);
}

TEST(TuningDatabase, TellsKernelsApartByTypeSizesAndConstantOperands) {
  const Kernel kernel = ProductKernel();
  const auto form = [](const Kernel& k) {
    return KernelForm(poly::MergeIndices(k.flat), k.is_constant);
  };
  Kernel renamed = kernel;
  renamed.flat.name = "another";
  renamed.flat.comments = {"with a comment"};
  renamed.flat.indices[0].name = "row";
  EXPECT_EQ(form(renamed), form(kernel));
  EXPECT_NE(form(ProductKernel("float64")), form(kernel));
  Kernel constant = kernel;
  constant.is_constant[1] = true;
  EXPECT_NE(form(constant), form(kernel));
  Kernel larger = kernel;
  larger.flat.indices[0].range += 8;
  EXPECT_NE(form(larger), form(kernel));
}

TEST(TuningDatabase, ForgetsAndReplaces) {
  const Kernel kernel = ProductKernel();
  const auto plans = PlanCandidates(kernel.flat, Cpu(), {kernel.is_constant}, 2);
  ASSERT_EQ(plans.size(), 2u);
  TuningDatabase book;
  for (const PlannedKernel& planned : plans) {
    ASSERT_TRUE(book.Keep(kernel.flat, Cpu(), kernel.is_constant, planned, 1, 2));
    EXPECT_EQ(book.size(), 1u);
    ExpectEqual(PlanKernel(kernel.flat, Cpu(), {kernel.is_constant}, book), planned);
  }
  book.Forget(kernel.flat, kernel.is_constant);
  EXPECT_EQ(book.size(), 0u);
  ExpectEqual(PlanKernel(kernel.flat, Cpu(), {kernel.is_constant}, book), plans.front());
}

TEST(StoredPlan, IsRefusedWhereItCannotBe) {
  const Kernel kernel = ProductKernel();
  const poly::FlatContraction merged = poly::MergeIndices(kernel.flat);
  CpuPlan plan = ScalarPlan(merged, 1);
  plan.vector_index = 1;
  plan.lanes = 8;
  plan.unroll[1] = plan.task[1] = 8;
  const proto::StoredPlan right = ToProto({merged, plan, {}, 0, ""});
  ASSERT_TRUE(FromProto(right, merged, Cpu()).has_value());
  const auto refused = [&](const std::function<void(proto::StoredPlan*)>& change) {
    proto::StoredPlan stored = right;
    change(&stored);
    return !FromProto(stored, merged, Cpu()).has_value();
  };
  EXPECT_TRUE(refused([](auto* s) { s->Clear(); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_task(0, 0); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_task(1, 12); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_unroll(0, -1); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_unroll(0, 25); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_unroll(1, 7); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_unroll(2, 8); }));
  EXPECT_TRUE(refused([](auto* s) { s->add_unroll(1); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_order(0, 1); }));
  EXPECT_TRUE(refused([](auto* s) { s->clear_order(); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_reduction_order(0, 0); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_vector_index(3); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_vector_index(-2); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_lanes(3); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_lanes(1 << 30); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_threads(0); }));
  EXPECT_TRUE(refused([](auto* s) { s->set_threads(64); }));
  EXPECT_TRUE(refused([](auto* s) { s->mutable_group(); }));
  EXPECT_TRUE(refused([](auto* s) { s->add_packed()->set_access(7); }));
  EXPECT_TRUE(refused([](auto* s) { s->add_packed()->set_block(0); }));
}

TEST(StoredPlan, KeepsABlockAndRefusesOneThatCannotBe) {
  const Kernel kernel = ProductKernel();
  const poly::FlatContraction merged = poly::MergeIndices(kernel.flat);
  CpuPlan plan = ScalarPlan(merged, 1);
  plan.vector_index = 1;
  plan.lanes = 8;
  plan.unroll[1] = 16;
  plan.task = {24, 32};
  plan.block = BlockPlan{1, 2, 12, {0, 1}};
  const proto::StoredPlan right = ToProto({merged, plan, {}, 0, ""});
  const auto found = FromProto(right, merged, Cpu());
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->plan, KernelPlan(plan));
  const auto refused = [&](const std::function<void(proto::StoredPlan::Block*)>& change) {
    proto::StoredPlan stored = right;
    change(stored.mutable_block());
    return !FromProto(stored, merged, Cpu()).has_value();
  };
  EXPECT_TRUE(refused([](auto* b) { b->set_level(-1); }));
  EXPECT_TRUE(refused([](auto* b) { b->set_level(3); }));
  EXPECT_TRUE(refused([](auto* b) { b->set_chunk_index(1); }));
  EXPECT_TRUE(refused([](auto* b) { b->set_chunk_index(3); }));
  EXPECT_TRUE(refused([](auto* b) { b->set_chunk_index(-1); }));
  EXPECT_TRUE(refused([](auto* b) { b->set_chunk_length(0); }));
  EXPECT_TRUE(refused([](auto* b) { b->set_chunk_length(40); }));
  EXPECT_TRUE(refused([](auto* b) { b->set_staged(0, 1); }));
  EXPECT_TRUE(refused([](auto* b) { b->set_staged(1, 2); }));
  EXPECT_TRUE(refused([](auto* b) { b->add_staged(-1); }));
}

// Any field of a stored plan may be corrupt: an accepted plan must still compute the right results.
TEST(StoredPlan, ComputesTheSameWhateverItSays) {
  constexpr int kTrials = 3000;
  constexpr uint32_t kSeed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  const auto below = [&](int limit) { return static_cast<int>(random() % limit); };
  const TestProgram program = Product();
  const ir::Program bound = BindTestProgram(program);
  const std::vector<HostTensor> inputs = RandomInputs(program, 1);
  const auto expected = ir::EvaluateNaively(bound, inputs);
  ASSERT_TRUE(expected.ok());
  const Kernel kernel = ProductKernel();
  const auto candidates = PlanCandidates(kernel.flat, Cpu(), {kernel.is_constant}, 16);
  int accepted = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    proto::StoredPlan stored = ToProto(candidates[below(static_cast<int>(candidates.size()))]);
    for (int change = 1 + below(2); change > 0; --change) {
      const int value = below(4) == 0 ? below(64) - 16 : (1 << below(6));
      switch (below(8)) {
        case 0:
          stored.set_task(below(stored.task_size()), value);
          break;
        case 1:
          stored.set_unroll(below(stored.unroll_size()), value);
          break;
        case 2:
          std::swap((*stored.mutable_order())[0], (*stored.mutable_order())[1]);
          break;
        case 3:
          stored.set_vector_index(value);
          break;
        case 4:
          stored.set_lanes(value);
          break;
        case 5:
          stored.clear_packed();
          break;
        case 6:
          stored.clear_packed();
          stored.add_packed()->set_access(below(3));
          stored.mutable_packed(0)->set_index(below(3));
          stored.mutable_packed(0)->set_block(value);
          break;
        case 7:
          stored.mutable_block()->set_level(below(3));
          stored.mutable_block()->set_chunk_index(below(4) - 1);
          stored.mutable_block()->set_chunk_length(value);
          stored.mutable_block()->add_staged(below(2));
          break;
      }
    }
    compiler::CompileOptions options;
    bool is_accepted = false;
    compiler::CompileHooks hooks;
    hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
      auto planned = FromProto(stored, poly::MergeIndices(flat), Cpu());
      is_accepted = planned.has_value();
      return is_accepted ? *std::move(planned) : PlanKernel(flat, Cpu(), launch);
    };
    if (!FromProto(stored, poly::MergeIndices(kernel.flat), Cpu()).has_value()) continue;
    if (++accepted > 60) continue;  // limits the time for interpreting
    const auto list = compiler::Compile(bound, options, hooks);
    ASSERT_TRUE(list.ok()) << list.status();
    ASSERT_TRUE(is_accepted);
    const auto actual = compiler::InterpretList(*list, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status() << stored.DebugString();
    EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 1e-5), "") << stored.DebugString();
  }
  EXPECT_GT(accepted, 10);
  EXPECT_LT(accepted, kTrials / 2);
}

}  // namespace
}  // namespace tartan::plan
