// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tartan::loop
