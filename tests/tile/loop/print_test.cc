// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tile/loop/build.h"

namespace tartan::loop {
namespace {

TEST(ToString, PrintsAKernelLineByLine) {
  const Type int_type{DataType::kInt32, 1};
  const ExprPtr i = Var("i", int_type);
  Kernel kernel;
  kernel.name = "copy";
  kernel.comments = {"O[i] = =(I[i]);"};
  kernel.parameters = {{"O", DataType::kFloat16, true}, {"I", DataType::kFloat32}};
  kernel.global_size[0] = 8;
  kernel.local_size[0] = 4;
  kernel.body = MakeBlock(
      {MakeDeclare(int_type, "g", Work(WorkId::kGroup, 0)),
       MakeFor("i", Int(0), Int(4),
               MakeIf(Less(i, Int(3)),
                      MakeStore("O", DataType::kFloat16, Add(i, Mul(Var("g", int_type), Int(4))),
                                LoadFrom("I", DataType::kFloat32, i)),
                      MakeComment("nothing")),
               2, true),
       MakeBarrier()});
  EXPECT_EQ(ToString(kernel),
            R"(// O[i] = =(I[i]);
kernel copy: global [8, 1, 1], local [4, 1, 1], index int32
  output O: float16
  input I: float32
  let g: int32 = group_id(0)
  for i in 0 .. 4 step 2 unrolled
    if (i < 3)
      O[(i + (g * 4))]:float16 = I[i]
    else
      // nothing
  barrier
)");
}

std::string TextOf(StmtPtr body) {
  Kernel kernel;
  kernel.parameters = {{"o", DataType::kFloat32, true}, {"i", DataType::kUInt8}};
  kernel.body = std::move(body);
  return ToString(kernel);
}

StmtPtr StoreOf(ExprPtr value) {
  return MakeStore("o", DataType::kFloat32, Int(0), std::move(value));
}

// The compiler shares one kernel between all kernels with the same text.
TEST(ToString, TellsApartWhatDiffersInTypesOrMemoryAlone) {
  const std::vector<StmtPtr> statements = {
      StoreOf(Float(7)),
      StoreOf(Splat(Float(7), 4)),
      StoreOf(Splat(Float(7), 8)),
      StoreOf(Float(7, DataType::kFloat64)),
      StoreOf(Int(7)),
      StoreOf(Int(7, DataType::kInt64)),
      StoreOf(Int(1, DataType::kUInt8)),
      StoreOf(Bool(true)),
      StoreOf(Cast(LoadFrom("i", DataType::kUInt8, Int(0)), DataType::kFloat32)),
      StoreOf(LoadFrom("i", DataType::kUInt8, Int(0))),
      StoreOf(LoadFrom("i", DataType::kUInt8, Int(0), 4)),
      StoreOf(LoadFrom("i", DataType::kUInt8, Int(0), 4, true)),
      StoreOf(
          std::make_shared<Expr>(Expr{{DataType::kInt32, 1}, Load{"i", DataType::kUInt8, Int(0)}})),
      StoreOf(std::make_shared<Expr>(
          Expr{{DataType::kFloat32, 1}, Load{"i", DataType::kUInt8, Int(0)}})),
      StoreOf(Work(WorkId::kGlobal, 0)),
      StoreOf(Work(WorkId::kGlobal, 0, DataType::kInt64)),
      MakeArray({DataType::kFloat32, 1}, "a", 4),
      MakeArray({DataType::kFloat32, 1}, "a", 4, Space::kLocal),
      MakeArray({DataType::kFloat32, 1}, "a", 4, Space::kLocal, "b"),
      MakeArray({DataType::kFloat32, 1}, "a", 4, Space::kLocal, "", 128),
      MakeTileStore("o", MatrixFormat::kTf32, Int(0), Float(7)),
      MakeTileStore("o", MatrixFormat::kBFloat16, Int(0), Float(7)),
  };
  for (size_t a = 0; a < statements.size(); ++a) {
    for (size_t b = 0; b < statements.size(); ++b) {
      EXPECT_EQ(TextOf(statements[a]) == TextOf(statements[b]), Equal(statements[a], statements[b]))
          << TextOf(statements[a]) << TextOf(statements[b]);
    }
  }
}

}  // namespace
}  // namespace tartan::loop
