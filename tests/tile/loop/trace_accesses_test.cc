// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/trace_accesses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <utility>

#include "tile/loop/build.h"

namespace tartan::loop {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Type kIndex{DataType::kInt32, 1};

using Access = std::tuple<int, int64_t, int64_t>;

Kernel KernelOf(StmtPtr body, int64_t items = 1) {
  Kernel kernel;
  kernel.parameters = {{"o", DataType::kFloat32, true}, {"i", DataType::kFloat32}};
  kernel.global_size[0] = items;
  kernel.body = std::move(body);
  return kernel;
}

std::vector<Access> StoresOf(const Kernel& kernel, TraceOptions options = {},
                             Trace* trace = nullptr) {
  std::vector<Access> found;
  const Trace result =
      TraceAccesses(kernel, options, [&](int parameter, int64_t index, int64_t lanes) {
        found.emplace_back(parameter, index, lanes);
      });
  if (trace != nullptr) *trace = result;
  return found;
}

StmtPtr StoreAt(ExprPtr index, ExprPtr value = Float(1)) {
  return MakeStore("o", DataType::kFloat32, std::move(index), std::move(value));
}

TEST(TraceAccesses, FindsTheStoresOfLoopsAndWorkItems) {
  const ExprPtr i = Var("i0", kIndex);
  const Kernel kernel =
      KernelOf(MakeFor("i0", Int(0), Int(4),
                       MakeIf(Less(i, Int(2)),
                              StoreAt(Add(Mul(Work(WorkId::kGlobal, 0), Int(10)), Mul(i, Int(4))),
                                      Splat(Float(1), 4)))),
               2);
  EXPECT_THAT(StoresOf(kernel),
              ElementsAre(Access{0, 0, 4}, Access{0, 4, 4}, Access{0, 10, 4}, Access{0, 14, 4}));
}

TEST(TraceAccesses, FollowsVariables) {
  const Kernel kernel = KernelOf(
      MakeBlock({MakeDeclare(kIndex, "n", Int(3), true),
                 MakeAssign("n", Add(Var("n", kIndex), Int(4))), StoreAt(Var("n", kIndex))}));
  EXPECT_THAT(StoresOf(kernel), ElementsAre(Access{0, 7, 1}));
}

TEST(TraceAccesses, TakesTheSizesOfTheLaunch) {
  Kernel kernel = KernelOf(MakeFor("j", Int(0), Var("size", kIndex), StoreAt(Var("j", kIndex))));
  kernel.sizes = {{"size", 5}};
  const std::vector<int64_t> sizes = {2};
  TraceOptions options;
  options.sizes = sizes;
  EXPECT_THAT(StoresOf(kernel, options), ElementsAre(Access{0, 0, 1}, Access{0, 1, 1}));
}

TEST(TraceAccesses, IsUncertainOfWhatDependsOnValues) {
  const ExprPtr value = LoadFrom("i", DataType::kFloat32, Int(0));
  for (const StmtPtr& body :
       {StoreAt(Cast(value, DataType::kInt32)), MakeIf(Less(value, Float(1)), StoreAt(Int(0))),
        MakeFor("j", Int(0), Cast(value, DataType::kInt32), StoreAt(Var("j", kIndex)))}) {
    Trace trace;
    EXPECT_THAT(StoresOf(KernelOf(body), {}, &trace), IsEmpty());
    EXPECT_THAT(trace.is_uncertain, ElementsAre(true, false));
  }
}

TEST(TraceAccesses, FindsLoadsThatAreCertainlyDone) {
  TraceOptions options;
  options.stores = false;
  options.loads = {false, true};
  const ExprPtr padded =
      Select(Less(Work(WorkId::kGlobal, 0), Int(1)),
             LoadFrom("i", DataType::kFloat32, Add(Work(WorkId::kGlobal, 0), Int(5))), Float(0));
  EXPECT_THAT(StoresOf(KernelOf(StoreAt(Int(0), padded), 3), options),
              ElementsAre(Access{1, 5, 1}));
}

TEST(TraceAccesses, VisitsTheEdgesOfAGridAlone) {
  TraceOptions options;
  options.edges_only = true;
  const Kernel kernel = KernelOf(StoreAt(Work(WorkId::kGlobal, 0)), 100);
  EXPECT_THAT(StoresOf(kernel, options),
              ElementsAre(Access{0, 0, 1}, Access{0, 1, 1}, Access{0, 98, 1}, Access{0, 99, 1}));
}

TEST(TraceAccesses, GivesUpAfterTheLimit) {
  TraceOptions options;
  options.max_steps = 3;
  Trace trace;
  StoresOf(KernelOf(StoreAt(Work(WorkId::kGlobal, 0)), 100), options, &trace);
  EXPECT_FALSE(trace.is_complete);
}

TEST(TraceAccesses, VisitsNothingIfOnlyACompleteTraceCountsAndLoopsAreLonger) {
  const StmtPtr stores = MakeFor("i", Int(0), Int(20), StoreAt(Var("i", kIndex)));
  const Kernel kernel = KernelOf(stores, 3);
  TraceOptions options;
  options.only_if_complete = true;
  options.max_steps = 59;
  Trace trace;
  EXPECT_THAT(StoresOf(kernel, options, &trace), IsEmpty());
  EXPECT_FALSE(trace.is_complete);
  options.max_steps = 63;  // 3 work-items with a loop of 20 stores
  EXPECT_EQ(StoresOf(kernel, options, &trace).size(), 60u);
  EXPECT_TRUE(trace.is_complete);
}

}  // namespace
}  // namespace tartan::loop
