// SPDX-License-Identifier: Apache-2.0
// Tests that kernels that differ only in constants are shared, and compares the results with the
// naive evaluator.
#include "tile/compiler/launches/share_kernels.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"

namespace tartan::compiler {
namespace {

KernelList CompileProgram(const TestProgram& program, const CompileOptions& options = {}) {
  auto list = Compile(BindTestProgram(program), options);
  EXPECT_TRUE(list.ok()) << list.status();
  return *std::move(list);
}

// `count` outputs, each two elements of X at another offset, times another constant.
TestProgram Slices(int count, const std::string& type = "") {
  std::string outputs;
  std::string statements;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&outputs, i == 0 ? "" : ", ", "Y", i);
    absl::StrAppend(&statements, "S", i, "[r, c : 3, 2] = =(X[r, c + ", i, "]); Y", i, " = S", i,
                    " * ", i, ".5;\n");
  }
  return {"slices",
          absl::StrCat("function (X[R, C]) -> (", outputs, ") {\n", statements, "}"),
          {{DataType::kFloat32, {3, count + 2}}}};
}

TEST(ShareKernels, LeavesAFewAlone) {
  EXPECT_EQ(CompileProgram(Slices(kMinShared - 1)).kernels.size(), kMinShared - 1);
}

TEST(ShareKernels, MakesOneOfManySlices) {
  const TestProgram program = Slices(100);
  const KernelList list = CompileProgram(program);
  // The first kernels may differ: an offset of 0 or a factor of 1 simplifies their code.
  EXPECT_LE(list.kernels.size(), 6);
  EXPECT_EQ(list.steps.size(), 100);
  ExpectNaiveResults(program, list);
}

TEST(ShareKernels, MakesOneOfManySlicesWithWideIndices) {
  CompileOptions options;
  options.force_64bit_indices = true;
  const TestProgram program = Slices(40);
  const KernelList list = CompileProgram(program, options);
  EXPECT_LE(list.kernels.size(), 6);
  ExpectNaiveResults(program, list);
}

// The driver compiles a kernel by running it with zeros as its constants; no index may be negative
// then.
TEST(ShareKernels, NumbersThatMoveTogetherAreTakenFromTheLeast) {
  constexpr int kCount = 40;
  std::string outputs;
  std::string statements;
  for (int i = 0; i < kCount; ++i) {
    absl::StrAppend(&outputs, i == 0 ? "" : ", ", "Y", i);
    absl::StrAppend(&statements, "A", i, "[r, c : 3, 2] = =(X[r, c + ", i + 3, "]); B", i,
                    "[r, c : 3, 2] = =(X[r, c + ", i, "]); Y", i, " = A", i, " - B", i, ";\n");
  }
  const TestProgram program = {
      "pairs",
      absl::StrCat("function (X[R, C]) -> (", outputs, ") {\n", statements, "}"),
      {{DataType::kFloat32, {3, kCount + 5}}}};
  KernelList list = CompileProgram(program);
  EXPECT_LE(list.kernels.size(), 4);
  ExpectNaiveResults(program, list);
  for (Step& step : list.setup) {
    if (auto* fill = std::get_if<FillStep>(&step)) fill->value = 0;
  }
  // The interpreter reports accesses outside a buffer.
  const auto zeros = InterpretList(list, RandomInputs(program, 1));
  EXPECT_TRUE(zeros.ok()) << zeros.status();
}

TEST(ShareKernels, AWideConcatenationHasFewKernels) {
  constexpr int kPieces = 400;
  std::string inputs;
  std::string statements;
  std::vector<TensorShape> shapes;
  std::string before = "";
  for (int i = 0; i < kPieces; ++i) {
    absl::StrAppend(&inputs, i == 0 ? "" : ", ", "X", i);
    shapes.push_back({DataType::kFloat32, {2, 3}});
    absl::StrAppend(&statements, "P", i, "[r, c : 2, ", 3 * kPieces, "] = =(X", i, "[r, c - ",
                    3 * i, "])", before.empty() ? "" : absl::StrCat(" default ", before), ";\n");
    before = absl::StrCat("P", i);
  }
  const TestProgram program = {
      "concat", absl::StrCat("function (", inputs, ") -> (", before, ") {\n", statements, "}"),
      shapes};
  const KernelList list = CompileProgram(program);
  EXPECT_LE(list.kernels.size(), 12);
  ExpectNaiveResults(program, list);
}

TEST(ShareKernels, KernelsWithOtherConstantsInFloat64StayApart) {
  const TestProgram program = {"float64",
                               "function (X) -> (Y, Z) { Y = X * as_float(0.1, 64); "
                               "Z = X * as_float(0.1000000000001, 64); }",
                               {{DataType::kFloat64, {5}}}};
  const KernelList list = CompileProgram(program);
  const std::vector<HostTensor> inputs = {
      HostTensor::FromVector<double>({DataType::kFloat64, {5}}, {1, 2, 3, 4, 5})};
  const auto actual = InterpretList(list, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ((*actual)[0].GetDouble(4), 5 * 0.1);
  EXPECT_EQ((*actual)[1].GetDouble(4), 5 * 0.1000000000001);
}

}  // namespace
}  // namespace tartan::compiler
