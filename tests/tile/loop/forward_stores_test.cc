// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/forward_stores.h"

#include <gtest/gtest.h>

#include "tile/loop/build.h"

namespace tartan::loop::forward_stores_test {
namespace {

constexpr DataType kF32 = DataType::kFloat32;
const Type kInt{DataType::kInt32, 1};
const Type kVector{kF32, 4};

// Prints the body of a kernel with an array `kept` and a buffer y, after store forwarding.
std::string Forwarded(const StmtPtr& body) {
  Kernel kernel;
  kernel.name = "k";
  kernel.body = ForwardStores(body, [](const std::string& buffer) { return buffer == "kept"; });
  const std::string text = ToString(kernel);
  return text.substr(text.find('\n') + 1);
}

StmtPtr Keep(const char* buffer, ExprPtr index, DataType stored = kF32) {
  return MakeStore(buffer, stored, std::move(index), Var("v", kVector));
}

StmtPtr CopyFrom(const char* buffer, ExprPtr index, int lanes = 4) {
  return MakeStore("y", kF32, Int(0),
                   Add(LoadFrom(buffer, kF32, std::move(index), lanes), Splat(Float(1), lanes)));
}

ExprPtr At(int64_t offset) { return Add(Var("i", kInt), Int(offset)); }

TEST(ForwardStores, LeavesLoadsOfOtherPlacesAlone) {
  const auto is_left = [](const StmtPtr& store, const StmtPtr& load) {
    return Forwarded(MakeBlock({store, load})) == Forwarded(MakeBlock({store})) + Forwarded(load);
  };
  EXPECT_TRUE(is_left(Keep("kept", At(8)), CopyFrom("kept", At(4))));
  EXPECT_TRUE(is_left(Keep("y", At(8)), CopyFrom("y", At(8))));
  EXPECT_TRUE(is_left(Keep("kept", At(8)), CopyFrom("kept", At(8), 2)));
}

TEST(ForwardStores, UsesWhatWasStored) {
  EXPECT_EQ(Forwarded(MakeBlock({Keep("kept", At(8)), CopyFrom("kept", At(8))})),
            Forwarded(MakeBlock(
                {Keep("kept", At(8)),
                 MakeStore("y", kF32, Int(0), Add(Var("v", kVector), Splat(Float(1), 4)))})));
}

TEST(ForwardStores, UsesItWithinBranches) {
  const ExprPtr condition = Less(Var("i", kInt), Int(3));
  const std::string text =
      Forwarded(MakeBlock({Keep("kept", At(0)), MakeIf(condition, CopyFrom("kept", At(0)))}));
  EXPECT_EQ(text.find("kept[", text.find("if")), std::string::npos) << text;
}

TEST(ForwardStores, DoesNotUseWhatABranchMayNotHaveStored) {
  const ExprPtr condition = Less(Var("i", kInt), Int(3));
  const std::string text =
      Forwarded(MakeBlock({MakeIf(condition, Keep("kept", At(0))), CopyFrom("kept", At(0))}));
  EXPECT_NE(text.find("kept[", text.find("y[")), std::string::npos) << text;
}

TEST(ForwardStores, DoesNotUseWhatMemoryRounds) {
  const StmtPtr load = MakeStore("y", kF32, Int(0), LoadFrom("kept", DataType::kFloat16, At(0), 4));
  const StmtPtr store = Keep("kept", At(0), DataType::kFloat16);
  EXPECT_EQ(Forwarded(MakeBlock({store, load})), Forwarded(store) + Forwarded(load));
}

}  // namespace
}  // namespace tartan::loop::forward_stores_test
