// SPDX-License-Identifier: Apache-2.0
// Tests which tf32 matmul factors are rounded when they are stored, and that results stay the same
// bit by bit.
#include "tile/compiler/round_stores.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/matrix_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tile/loop/mma.h"

namespace tartan::compiler::round_stores_test {
namespace {

KernelList Compile(const MatrixProgram& test, bool rounds_stores) {
  const std::set<std::string> left_out = {"round-stores"};
  return CompileForMatrixUnit(Bind(test), MatrixFormat::kTf32, Precision::kTf32,
                              rounds_stores ? std::set<std::string>() : left_out);
}

// Counts the rounding stores of the kernels of each run: stores of results, and of tiles in local
// memory.
struct RoundingStores {
  int per_result = 0;
  int of_tiles = 0;
};

RoundingStores CountOf(const KernelList& list) {
  RoundingStores count;
  for (const Step& step : list.steps) {
    const auto& launch = std::get<LaunchStep>(step);
    const std::string text = loop::ToString(list.kernels[launch.kernel]);
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      if (!absl::StrContains(line, " tf32 = ")) continue;
      ++(absl::StrContains(line, "tiles[") ? count.of_tiles : count.per_result);
    }
  }
  return count;
}

// Expects the same results with and without the pass, for inputs that tf32 does not represent.
void ExpectSameResults(const MatrixProgram& test) {
  TestProgram random = {test.name, test.code, {}};
  for (const std::vector<int64_t>& dims : test.inputs) {
    random.inputs.push_back({DataType::kFloat32, dims});
  }
  const std::vector<HostTensor> inputs = RandomInputs(random, 7);
  compiler::ExpectSameResults(Compile(test, true), Compile(test, false), inputs, 0);
}

MatrixProgram Product(const std::string& factor, const std::string& more = "",
                      const std::string& outputs = "Y") {
  return {"product",
          absl::StrCat("function (X[M, K], W[K, J], U[J, L]) -> (", outputs, ") {\n", factor,
                       "Y[i, j : M, J] = +(A[i, k] * W[k, j]);\n", more, "}"),
          {{70, 96}, {96, 40}, {40, 24}},
          {false, true, true}};
}

TEST(RoundStores, RoundsWhatOnlyProductsRead) {
  const MatrixProgram test = Product("A = exp(X) + 0.1;\n");
  const RoundingStores before = CountOf(Compile(test, false));
  EXPECT_EQ(before.per_result, 0);
  EXPECT_GT(before.of_tiles, 0);
  const RoundingStores after = CountOf(Compile(test, true));
  EXPECT_GT(after.per_result, 0);
  EXPECT_EQ(after.of_tiles, 0);
  ExpectSameResults(test);
}

// Compiles a program so that both factors of each matmul are packed.
KernelList CompilePacked(const MatrixProgram& test, bool rounds_stores) {
  std::string plans;
  CompileOptions options;
  options.settings = MatrixSettings();
  options.precision = Precision::kTf32;
  if (!rounds_stores) options.disabled_passes = {"round-stores"};
  auto list = compiler::Compile(
      Bind(test), options, PlanForMatrixUnit(MatrixFormat::kTf32, 0, &plans, PackedFactors::kAll));
  EXPECT_TRUE(list.ok()) << list.status();
  return *std::move(list);
}

// Expects that the pass leaves out one launch of a program whose factors are packed.
void ExpectOneCopyLess(const MatrixProgram& test) {
  const KernelList before = CompilePacked(test, false);
  const KernelList after = CompilePacked(test, true);
  EXPECT_EQ(after.steps.size() + 1, before.steps.size());
  EXPECT_GT(CountOf(after).per_result, 0);
  TestProgram random = {test.name, test.code, {}};
  for (const std::vector<int64_t>& dims : test.inputs) {
    random.inputs.push_back({DataType::kFloat32, dims});
  }
  compiler::ExpectSameResults(after, before, RandomInputs(random, 7), 0);
}

// A matmul and the gradient of its weights read a value in two orders.
TEST(RoundStores, RoundsWhatIsAlsoCopiedInAnotherOrder) {
  ExpectOneCopyLess({"both",
                     "function (X[M, K], W[K, J], V[M, L]) -> (Y, Z) {\nA = exp(X) + 0.1;\n"
                     "Y[i, j : M, J] = +(A[i, k] * W[k, j]);\n"
                     "Z[k, l : K, L] = +(A[i, k] * V[i, l]); }",
                     {{70, 96}, {96, 40}, {70, 24}},
                     {false, true, false}});
}

// A planned copy of the factor that only rounds it becomes unnecessary.
TEST(RoundStores, LeavesOutCopiesThatOnlyRound) {
  ExpectOneCopyLess(Product("A = exp(X) + 0.1;\n"));
  // A factor that is transposed as well, or is an output, still needs its copy.
  const MatrixProgram turned = {"turned",
                                "function (X[K, M], W[K, J]) -> (Y) {\n"
                                "A = exp(X) + 0.1;\nY[i, j : M, J] = +(A[k, i] * W[k, j]); }",
                                {{96, 70}, {96, 40}},
                                {false, true}};
  for (const MatrixProgram& other : {turned, Product("A = exp(X) + 0.1;\n", "", "Y, A")}) {
    EXPECT_EQ(CompilePacked(other, true).steps.size(), CompilePacked(other, false).steps.size())
        << other.code;
  }
}

TEST(RoundStores, RoundsWhatAChainGives) {
  const MatrixProgram test = Product(
      "S[i, 0 : M, 1] = +(X[i, k]); C = X - S / K; V[i, 0 : M, 1] = +(C[i, k] * C[i, k]);\n"
      "A = C / sqrt(V / K + 0.01);\n");
  const RoundingStores after = CountOf(Compile(test, true));
  EXPECT_GT(after.per_result, 0);
  EXPECT_EQ(after.of_tiles, 0);
  ExpectSameResults(test);
}

TEST(RoundStores, RoundsOneProductsResultForTheNext) {
  const MatrixProgram test =
      Product("A = exp(X) + 0.1;\n", "R = tanh(Y); Z[i, l : M, L] = +(R[i, j] * U[j, l]);\n", "Z");
  const RoundingStores after = CountOf(Compile(test, true));
  EXPECT_GT(after.per_result, 1);
  EXPECT_EQ(after.of_tiles, 0);
  ExpectSameResults(test);
}

TEST(RoundStores, LeavesWhatIsReadOtherwiseOrSeen) {
  for (const MatrixProgram& test :
       {Product("A = exp(X) + 0.1;\n", "", "Y, A"),
        Product("A = exp(X) + 0.1;\n", "B[i, 0 : M, 1] = >(A[i, k]);\n", "Y, B"),
        Product("A = X;\n")}) {
    const RoundingStores before = CountOf(Compile(test, false));
    const RoundingStores after = CountOf(Compile(test, true));
    EXPECT_EQ(after.per_result, 0);
    EXPECT_EQ(after.of_tiles, before.of_tiles);
    ExpectSameResults(test);
  }
}

}  // namespace
}  // namespace tartan::compiler::round_stores_test
