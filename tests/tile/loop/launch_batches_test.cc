// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/launch_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tile/loop/build.h"
#include "tile/loop/verify.h"

namespace tartan::loop::runs_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr DataType kF32 = DataType::kFloat32;
const Type kFloat = {kF32, 1};

ExprPtr Item() { return Work(WorkId::kLocal, 0); }

StmtPtr KeepFactor() { return MakeOnce(MakeAssign("kept", LoadFrom("factor", kF32, Item()))); }

StmtPtr LoadState() {
  return MakeFetch(LoadFrom("state", kF32, Int(0)), LoadFrom("next", kF32, Int(0)),
                   MakeStore("rows", kF32, Item(), LoadFrom("state", kF32, Item())));
}

// Computes next = state * factor and keeps the factor across launches.
Kernel Of(std::vector<StmtPtr> statements) {
  Kernel kernel;
  kernel.name = "step";
  kernel.parameters = {{"next", kF32, true}, {"state", kF32}, {"factor", kF32}};
  kernel.local_size[0] = kernel.global_size[0] = 64;
  statements.insert(statements.begin(), MakeArray(kFloat, "rows", 64, Space::kLocal));
  statements.insert(statements.begin(), MakeDeclare(kFloat, "kept", nullptr, true));
  statements.push_back(
      MakeStore("next", kF32, Item(), Mul(LoadFrom("rows", kF32, Item()), Var("kept", kFloat))));
  kernel.body = MakeBlock(std::move(statements));
  return kernel;
}

TEST(Runs, KeepWhatIsReadOnce) {
  const Kernel kernel = Of({KeepFactor(), LoadState(), MakeBarrier()});
  EXPECT_TRUE(Verify(kernel).ok()) << Verify(kernel);
  EXPECT_THAT(PersistentParameters(kernel), ElementsAre(2));
  EXPECT_THAT(ForwardedOutputs(kernel), ElementsAre("next"));
}

TEST(Runs, AreNoneOfOtherKernels) {
  Kernel kernel = Of({});
  EXPECT_THAT(PersistentParameters(kernel), IsEmpty());
  EXPECT_THAT(ForwardedOutputs(kernel), IsEmpty());
  EXPECT_EQ(ReasonInvalidBatch(kernel), "");
  kernel.body = nullptr;
  EXPECT_THAT(PersistentParameters(kernel), IsEmpty());
}

void ExpectWrong(const Kernel& kernel, const std::string& what) {
  EXPECT_THAT(std::string(Verify(kernel).message()), HasSubstr(what));
}

TEST(Runs, HaveOneStatementThatIsDoneOnce) {
  ExpectWrong(Of({KeepFactor(), KeepFactor()}), "nested or repeated");
  ExpectWrong(Of({MakeIf(Less(Item(), Int(3)), KeepFactor())}), "nested or repeated");
  ExpectWrong(Of({LoadState()}), "without a Once statement");
}

// The next launch's arguments overwrite the current ones, so each launch needs a barrier.
TEST(Runs, WaitInEachLaunch) {
  ExpectWrong(Of({KeepFactor()}), "without a barrier");
  ExpectWrong(Of({MakeBarrier(), KeepFactor()}), "without a barrier");
  ExpectWrong(Of({KeepFactor(), MakeIf(Less(Item(), Int(3)), MakeBarrier())}), "without a barrier");
  EXPECT_EQ(ReasonInvalidBatch(Of({KeepFactor(), MakeBarrier()})), "");
}

TEST(Runs, KeepNothingThatLaunchesWrite) {
  ExpectWrong(Of({MakeOnce(MakeAssign("kept", LoadFrom("next", kF32, Item()))), MakeBarrier()}),
              "is not an input");
  ExpectWrong(Of({MakeOnce(MakeStore("next", kF32, Item(), Float(0))), MakeBarrier()}),
              "is not an input");
  ExpectWrong(Of({MakeStore("rows", kF32, Item(), LoadFrom("state", kF32, Item())), KeepFactor(),
                  MakeBarrier()}),
              "before the Once statement");
}

TEST(Runs, HandOnOutputsAsInputs) {
  const StmtPtr nothing = MakeBlock({});
  ExpectWrong(Of({KeepFactor(), MakeFetch(LoadFrom("next", kF32, Int(0)),
                                          LoadFrom("next", kF32, Int(0)), nothing)}),
              "is not an input that was");
  ExpectWrong(Of({KeepFactor(), MakeFetch(LoadFrom("state", kF32, Int(0)),
                                          LoadFrom("factor", kF32, Int(0)), nothing)}),
              "is not an input that was");
}

TEST(Runs, AreOfOneGroup) {
  Kernel kernel = Of({KeepFactor(), LoadState(), MakeBarrier()});
  kernel.global_size[0] = 128;
  ExpectWrong(kernel, "several work-groups");
}

}  // namespace
}  // namespace tartan::loop::runs_test
