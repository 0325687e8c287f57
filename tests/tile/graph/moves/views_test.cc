// SPDX-License-Identifier: Apache-2.0
// Tests which moves keep every element in place and are therefore views.
#include "tile/graph/moves/views.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/programs.h"
#include "tile/ir/verify_stored.h"

namespace tartan::graph::views_test {
namespace {

bool IsView(const std::string& move, std::vector<int64_t> dims) {
  const ir::Program original =
      BindTestProgram({"test",
                       absl::StrCat("function (A) -> (R) { R", move, "; }"),
                       {{DataType::kFloat32, std::move(dims)}}});
  const ir::Program program = MakeViews(original);
  EXPECT_TRUE(ir::VerifyStored(program).ok()) << ir::VerifyStored(program);
  const ir::Value& result = program.values[program.outputs[0]];
  EXPECT_EQ(result.shape, original.values[original.outputs[0]].shape);
  if (std::holds_alternative<ir::Special>(result.op)) return true;
  EXPECT_EQ(program, original);
  return false;
}

TEST(Views, AreTranspositionsOfDimensionsOfSizeOne) {
  EXPECT_TRUE(IsView("[a, c, b, d : 1, 1, 12, 64] = =(A[a, b, c, d])", {1, 12, 1, 64}));
  EXPECT_TRUE(IsView("[b, a : 5, 1] = =(A[a, b])", {1, 5}));
  EXPECT_FALSE(IsView("[a, c, b, d : 1, 2, 12, 64] = =(A[a, b, c, d])", {1, 12, 2, 64}));
}

TEST(Views, AreCopies) {
  EXPECT_TRUE(IsView("[a, b : 4, 5] = =(A[a, b])", {4, 5}));
  EXPECT_TRUE(IsView("[a, b : 4, 5] = +(A[a, b])", {4, 5}));
  EXPECT_TRUE(IsView("[a, b, c : 4, 1, 5] = =(A[a, c, b])", {4, 5, 1}));
}

TEST(Views, AreNoPartsNorRepetitions) {
  EXPECT_FALSE(IsView("[a, b : 3, 5] = =(A[a, b])", {4, 5}));
  EXPECT_FALSE(IsView("[a, b : 4, 5] = =(A[a, 0])", {4, 1}));
  EXPECT_FALSE(IsView("[a : 4] = +(A[a, b])", {4, 5}));
}

TEST(Views, AreInTheOrderOfMemory) {
  EXPECT_FALSE(IsView("[a, b : 4, 4] = =(A[b, a])", {4, 4}));
  EXPECT_FALSE(IsView("[a : 4] = =(A[3 - a])", {4}));
  EXPECT_FALSE(IsView("[a + 1 : 4] = =(A[a])", {4}));
  EXPECT_FALSE(IsView("[a, b : 1, 4] = =(A[b, a])", {1, 4}));
}

TEST(Views, HaveAsManyElementsThatAreRead) {
  // A[b, b] with a size of 1 in the first dimension reads only element (0, 0).
  EXPECT_FALSE(IsView("[a, b : 1, 4] = =(A[b, b]), a < 1", {1, 4}));
}

}  // namespace
}  // namespace tartan::graph::views_test
