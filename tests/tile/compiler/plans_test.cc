// SPDX-License-Identifier: Apache-2.0
// A kernel computes the same under every plan. Runs every test program with plans from the cost
// model and with random plans, including constraints and guards that cross vectors.
// TARTAN_LONG_TESTS sets the number of random plans per program (default 6), TARTAN_TEST_SEED the
// first seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/plan/cpu/block_layout.h"
#include "tile/plan/select/select_plan.h"
#include "tile/poly/pack.h"
#include "tile/poly/rewrite_kernel.h"
#include "tile/poly/unroll.h"

namespace tartan::compiler::plans_test {
namespace {

using plan::CpuPlan;
using plan::PlannedKernel;

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

class PlanTest : public testing::TestWithParam<TestProgram> {
 protected:
  void SetUp() override {
    program_ = BindTestProgram(GetParam());
    inputs_ = RandomInputs(GetParam(), 1);
    auto expected = ir::EvaluateNaively(program_, inputs_);
    ASSERT_TRUE(expected.ok()) << expected.status();
    expected_ = *std::move(expected);
  }

  void Check(const CompileOptions& options, const CompileHooks& hooks, const std::string& what) {
    const auto list = Compile(program_, options, hooks);
    ASSERT_TRUE(list.ok()) << list.status() << what;
    const auto actual = InterpretList(*list, inputs_);
    ASSERT_TRUE(actual.ok()) << actual.status() << what;
    const DataType type = GetParam().inputs[0].type;
    const bool half = type == DataType::kFloat16 || type == DataType::kBFloat16;
    const double tolerance = options.winograd == plan::Winograd::kAlways ? 1e-4 : 1e-5;
    for (size_t o = 0; o < actual->size(); ++o) {
      EXPECT_EQ(FirstDifference((*actual)[o], expected_[o], half ? 1e-2 : tolerance), "")
          << "output " << o << what;
    }
  }

  ir::Program program_;
  std::vector<HostTensor> inputs_;
  std::vector<HostTensor> expected_;
};

class RandomPlanner {
 public:
  explicit RandomPlanner(uint64_t seed) : random_(seed) {}

  PlannedKernel Plan(const poly::FlatContraction& built) {
    poly::FlatContraction flat = poly::MergeIndices(built);
    PlannedKernel planned;
    if (flat.output_point_count() == 0) return {flat, plan::ScalarPlan(flat, 1), {}, 0, ""};
    for (int access = 0; access < static_cast<int>(flat.accesses.size()); ++access) {
      if (!flat.is_reduction() || flat.output_index_count == 0 || Below(2) == 0) continue;
      const int index = static_cast<int>(Below(flat.output_index_count));
      if (!poly::CanPack(flat, access, index)) continue;
      const int tensor = flat.accesses[access].tensor;
      const ir::ValueId source = flat.tensors[tensor].value;
      poly::PackedKernel packed = poly::PackRead(flat, access, index, Lanes());
      planned.packed.push_back({tensor, source, std::move(packed.copy)});
      flat = std::move(packed.kernel);
      break;
    }
    if (planned.packed.empty() && poly::CanUnroll(flat) && Below(2) == 0) {
      flat = poly::Unroll(flat);
      planned.is_unrolled = true;
    }
    planned.plan = RandomPlan(flat);
    planned.flat = std::move(flat);
    return planned;
  }

 private:
  int64_t Below(int64_t bound) { return static_cast<int64_t>(random_() % bound); }
  int Lanes() { return 2 << Below(3); }

  CpuPlan RandomPlan(const poly::FlatContraction& flat) {
    CpuPlan plan = plan::ScalarPlan(flat, 1);
    const int count = static_cast<int>(flat.indices.size());
    const bool is_flag = flat.is_reduction() && flat.accumulator_type == DataType::kBool;
    const int v = count > 0 ? static_cast<int>(Below(count)) : -1;
    const int lanes = Lanes();
    const bool reduced = v >= flat.output_index_count;
    if (v >= 0 && lanes <= flat.indices[v].range && !is_flag && MayUnroll(flat, v)) {
      plan.vector_index = v;
      plan.lanes = lanes;
      plan.unroll[v] = lanes * (1 + Below(std::min<int64_t>(flat.indices[v].range / lanes, 3)));
      if (reduced) {
        std::erase(plan.reduction_order, v);
        plan.reduction_order.push_back(v);
      }
    }
    for (int i = 0; i < flat.output_index_count; ++i) {
      const int64_t range = flat.indices[i].range;
      const int64_t most_rows = Below(4) == 0 ? 15 : 3;
      if (i != v && MayUnroll(flat, i)) {
        plan.unroll[i] = 1 + Below(std::min<int64_t>(range, most_rows));
      }
      plan.task[i] = std::min(range, plan.unroll[i] * (1 + Below(4)));
    }
    plan.masks_lanes = Below(2) == 0;
    constexpr int64_t kMaxUnrolled = 6;
    for (int i = flat.output_index_count; i < count; ++i) {
      const int64_t range = flat.indices[i].range;
      if (i == v && plan.lanes > 1) continue;
      if (range <= kMaxUnrolled && MayUnroll(flat, i) && Below(2) == 0) plan.unroll[i] = range;
    }
    for (int i = 0; i < flat.output_index_count; ++i) {
      if (Below(3) == 0) plan.task[i] = flat.indices[i].range;
    }
    std::shuffle(plan.order.begin(), plan.order.end(), random_);
    if (flat.is_reduction() && !(plan.lanes > 1 && reduced) && Below(2) == 0) {
      plan.block = RandomBlock(flat, plan);
    }
    return plan;
  }

  plan::BlockPlan RandomBlock(const poly::FlatContraction& flat, const CpuPlan& plan) {
    plan::BlockPlan block;
    block.level = static_cast<int>(Below(flat.output_index_count + 1));
    for (int i = flat.output_index_count; i < static_cast<int>(flat.indices.size()); ++i) {
      const int64_t range = flat.indices[i].range;
      if (range < 2 || plan.unroll[i] > 1 || !plan::CanSplitIntoChunks(flat) || Below(2) == 0)
        continue;
      block.chunk_index = i;
      block.chunk_length = 1 + Below(range - 1);
    }
    for (int access = 0; access < static_cast<int>(flat.accesses.size()); ++access) {
      if (plan::CanStage(flat, access) && Below(2) == 0) block.staged.push_back(access);
    }
    return block;
  }

  static bool MayUnroll(const poly::FlatContraction& flat, int i) {
    if (!flat.needs_hits()) return true;
    return std::none_of(flat.constraints.begin(), flat.constraints.end(),
                        [&](const math::RangeConstraint& constraint) {
                          return !constraint.poly.coefficient(i).is_zero();
                        });
  }

  std::mt19937_64 random_;
};

TEST_P(PlanTest, ProposedPlansComputeTheSame) {
  for (int64_t width : {4, 8, 16}) {
    for (int choice : {0, 3, 11}) {
      CompileOptions options;
      options.settings.vector_width = width;
      options.settings.compute_units = 3;
      CompileHooks hooks;
      hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext& launch) {
        auto plans = plan::PlanCandidates(flat, options.settings, launch, 12);
        const size_t last = plans.size() - 1;
        return plans[std::min<size_t>(choice, last)];
      };
      Check(options, hooks,
            " with vectors of " + std::to_string(width) + ", plan " + std::to_string(choice));
    }
  }
}

TEST_P(PlanTest, RandomPlansComputeTheSame) {
  const int64_t count = FromEnvironment("TARTAN_LONG_TESTS", 6);
  const uint64_t first = FromEnvironment("TARTAN_TEST_SEED", 1);
  for (int64_t n = 0; n < count; ++n) {
    const uint64_t seed = first + n;
    RandomPlanner planner(seed);
    std::string plans;
    CompileOptions options;
    if (seed % 2 != 0) options.disabled_passes = {"pad-inputs"};
    if (seed % 3 == 0) options.winograd = plan::Winograd::kAlways;
    CompileHooks hooks;
    hooks.planner = [&](const poly::FlatContraction& flat, const plan::LaunchContext&) {
      PlannedKernel planned = planner.Plan(flat);
      plans += "\n" + plan::ToString(planned.plan, planned.flat);
      return planned;
    };
    Check(options, hooks, " under seed " + std::to_string(seed) + plans);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlanTest, testing::ValuesIn(TestPrograms()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tartan::compiler::plans_test
