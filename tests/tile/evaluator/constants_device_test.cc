// SPDX-License-Identifier: Apache-2.0
// Tests constant outputs on the device: one constant in several shapes needs several kernels.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/expect_naive.h"

namespace tartan::evaluator {
namespace {

TEST(Constants, OfSeveralShapesAreAllWritten) {
  for (int64_t n = 1; n <= 40; n += n < 20 ? 1 : 5) {
    TestProgram program;
    program.name = absl::StrCat("Constants_", n);
    program.code = R"(function (X[N], Y[M, N]) -> (O, P, Q, R, S) {
      Seven = as_float(7.0, 32);
      O[] = +(Seven[]);
      P[i : N] = +(Seven[]);
      Q[j, i : M, N] = +(Seven[]);
      R[i : N] = +(Seven[]);
      S = as_int(Q, 32);
    })";
    program.inputs = {{DataType::kFloat32, {n}}, {DataType::kFloat32, {3, n}}};
    SCOPED_TRACE(program.name);
    ExpectNaiveResults(program, 1, 0);
  }
}

}  // namespace
}  // namespace tartan::evaluator
