// SPDX-License-Identifier: Apache-2.0
// Tests the minimum number of rows for which a matmul uses the matrix unit.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "tests/tile/compiler/matrix_programs.h"
#include "tile/compiler/compiler.h"

namespace tartan::compiler {
namespace {

bool UsesMatrixUnit(int64_t rows, Precision precision, int64_t columns = 2048) {
  const MatrixProgram product = {
      "product",
      "function (X[M, K], W[K, N]) -> (Y) { Y[i, j : M, N] = +(X[i, k] * W[k, j]); }",
      {{rows, 1024}, {1024, columns}},
      {false, true}};
  CompileOptions options;
  options.settings = MatrixSettings();
  options.precision = precision;
  const auto list = Compile(Bind(product), options);
  EXPECT_TRUE(list.ok()) << list.status();
  return std::any_of(list->kernels.begin(), list->kernels.end(), [](const loop::Kernel& kernel) {
    return absl::StrContains(loop::ToString(kernel), "multiply tiles");
  });
}

TEST(MatrixRows, FewDoWithoutTheUnitInTf32) {
  EXPECT_FALSE(UsesMatrixUnit(1, Precision::kTf32));
  EXPECT_FALSE(UsesMatrixUnit(7, Precision::kTf32));
  EXPECT_FALSE(UsesMatrixUnit(1, Precision::kTf32, 50000));
  EXPECT_TRUE(UsesMatrixUnit(64, Precision::kTf32));
}

// Weights of 16 bits halve the traffic, which pays off even for one row.
TEST(MatrixRows, FewTakeItInSixteenBits) {
  EXPECT_TRUE(UsesMatrixUnit(1, Precision::kBFloat16, 50000));
  EXPECT_FALSE(UsesMatrixUnit(64, Precision::kFloat32));
}

}  // namespace
}  // namespace tartan::compiler
