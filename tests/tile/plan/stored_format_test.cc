// SPDX-License-Identifier: Apache-2.0
// Tests that matmuls of 16-bit factors use tensor cores with every precision.
#include <gtest/gtest.h>

#include <utility>
#include <variant>
#include <vector>

#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"
#include "tile/compiler/compiler.h"
#include "tile/plan/select/select_plan.h"

namespace tartan::plan::stored_format_test {
namespace {

// Returns the format in which a matmul of these factors uses tensor cores; kFloat32 for none.
Precision FormatFor(DataType left, DataType right, Precision precision) {
  compiler::CompileOptions options;
  options.settings = TestGpu(256, 132);
  options.settings.matrix_local_bytes = 227 << 10;
  options.settings.matrix_rate = 2048;
  options.precision = precision;
  std::vector<MatrixFormat> formats;
  compiler::CompileHooks hooks;
  hooks.planner = [&](const poly::FlatContraction& flat, const LaunchContext& launch) {
    PlannedKernel planned = PlanKernel(flat, options.settings, launch, precision);
    const auto* matrix = std::get_if<MatrixPlan>(&planned.plan);
    if (matrix != nullptr) formats.push_back(matrix->format);
    return planned;
  };
  const TensorShape a{left, {4096, 4096}};
  const TensorShape b{right, {4096, 4096}};
  const auto list = compiler::Compile(BindTestProgram({"Matmul", kMatMul, {a, b}}), options, hooks);
  EXPECT_TRUE(list.ok()) << list.status();
  EXPECT_LE(formats.size(), 1u);
  return formats.empty() ? Precision::kFloat32 : *PrecisionFromName(Name(formats[0]));
}

TEST(StoredFormat, SixteenBitsUseTensorCoresWithEveryPrecision) {
  constexpr DataType kFloat = DataType::kFloat32;
  constexpr DataType kBrain = DataType::kBFloat16;
  constexpr DataType kHalf = DataType::kFloat16;
  EXPECT_EQ(FormatFor(kFloat, kFloat, Precision::kFloat32), Precision::kFloat32);
  EXPECT_EQ(FormatFor(kBrain, kBrain, Precision::kFloat32), Precision::kBFloat16);
  EXPECT_EQ(FormatFor(kHalf, kHalf, Precision::kFloat32), Precision::kFloat16);
  // A factor of another type would lose bits.
  EXPECT_EQ(FormatFor(kBrain, kFloat, Precision::kFloat32), Precision::kFloat32);
  EXPECT_EQ(FormatFor(kFloat, kHalf, Precision::kFloat32), Precision::kFloat32);
  EXPECT_EQ(FormatFor(kBrain, kHalf, Precision::kFloat32), Precision::kFloat32);
  // The precision that the user allows decides first.
  EXPECT_EQ(FormatFor(kFloat, kFloat, Precision::kTf32), Precision::kTf32);
  EXPECT_EQ(FormatFor(kFloat, kFloat, Precision::kBFloat16), Precision::kBFloat16);
}

}  // namespace
}  // namespace tartan::plan::stored_format_test
