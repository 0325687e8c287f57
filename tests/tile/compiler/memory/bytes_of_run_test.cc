// SPDX-License-Identifier: Apache-2.0
#include "tile/compiler/memory/bytes_of_run.h"

#include <gtest/gtest.h>

#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/fuse/judge.h"
#include "tile/graph/constants.h"

namespace tartan::compiler {
namespace {

double BytesOf(const TestProgram& test, size_t constants) {
  ir::Program program = BindTestProgram(test);
  for (size_t i = 0; i < constants; ++i) {
    std::get<ir::Input>(program.values[program.inputs[i]].op).is_constant = true;
  }
  const std::vector<bool> is_constant = graph::FindConstants(program);
  const auto spaces = poly::AnalyzeProgram(program);
  EXPECT_TRUE(spaces.ok()) << spaces.status();
  const HardwareSettings settings;
  fuse::Judge judge({.settings = settings});
  const auto partition =
      PartitionProgram({program, *spaces, is_constant}, /*algorithms=*/{}, {}, &judge);
  EXPECT_TRUE(partition.ok()) << partition.status();
  return BytesOfRun(program, is_constant, *partition);
}

TEST(BytesOfRun, CountsWhatIsReadAndWrittenOnce) {
  const TestProgram test = {"square",
                            "function (W[L, N], A[M, L]) -> (C, D) {"
                            " C[i, j : M, N] = +(A[i, k] * W[k, j]);"
                            " D[i, j : M, N] = >(A[i, k] * W[k, j]); }",
                            {F32({20, 30}), F32({10, 20})}};
  EXPECT_EQ(BytesOf(test, 0), 4 * (20 * 30 + 10 * 20 + 2 * 10 * 30));
  EXPECT_EQ(BytesOf(test, 1), 4 * (20 * 30 + 10 * 20 + 2 * 10 * 30));
}

TEST(BytesOfRun, CountsOfWhatIsDoneAtLoadTheResultAlone) {
  const TestProgram test = {"joined",
                            "function (W[L, N], V[L, N], A[M, L]) -> (C) {"
                            " X[k, j : L, N] = +(W[k, i] * V[i, j]);"
                            " C[i, j : M, N] = +(A[i, k] * X[k, j]); }",
                            {F32({20, 20}), F32({20, 20}), F32({10, 20})}};
  EXPECT_EQ(BytesOf(test, 0), 4 * (3 * 20 * 20 + 2 * 10 * 20));
  EXPECT_EQ(BytesOf(test, 2), 4 * (20 * 20 + 2 * 10 * 20));
}

}  // namespace
}  // namespace tartan::compiler
