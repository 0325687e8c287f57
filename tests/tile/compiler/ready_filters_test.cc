// SPDX-License-Identifier: Apache-2.0
// Tests ready (dynamic-shape) kernels of gradients by filters of images with channels last.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/loop/rename.h"

namespace tartan::compiler::ready_filters_test {
namespace {

TestProgram FilterGradient(int64_t size, int64_t in, int64_t out) {
  return {"FilterGradient",
          "function (X[N, H, W, C], D[N, Y, X_, O]) -> (G) {"
          " G[o, c, p, q : O, C, 3, 3] = +(X[n, y + p, x + q, c] * D[n, y, x, o]); }",
          {{DataType::kFloat32, {2, size + 2, size + 2, in}},
           {DataType::kFloat32, {2, size, size, out}}}};
}

// Checks the results. Returns the texts of the kernels.
std::set<std::string> TextsOf(const TestProgram& test) {
  CompileOptions options;
  options.tier = Tier::kReady;
  options.settings.vector_width = 8;
  options.settings.compute_units = 2;
  const ir::Program program = BindTestProgram(test);
  const auto list = Compile(program, options);
  EXPECT_TRUE(list.ok()) << list.status();
  const std::vector<HostTensor> inputs = RandomInputs(test, 3);
  const auto expected = ir::EvaluateNaively(program, inputs);
  const auto actual = InterpretList(*list, inputs);
  EXPECT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
  EXPECT_EQ(FirstDifference((*actual)[0], (*expected)[0], 1e-5), "");
  std::set<std::string> texts;
  for (const loop::Kernel& kernel : list->kernels) {
    texts.insert(loop::ToString(loop::WithoutNames(kernel)));
  }
  return texts;
}

// The vectors lie along the channels, which the results have far apart.
TEST(ReadyFilters, HaveVectorsAlongTheChannels) {
  const std::set<std::string> texts = TextsOf(FilterGradient(6, 5, 16));
  ASSERT_EQ(texts.size(), 1);
  EXPECT_NE(texts.begin()->find("float32x8"), std::string::npos) << *texts.begin();
  EXPECT_EQ(TextsOf(FilterGradient(5, 4, 24)), texts);
  EXPECT_EQ(TextsOf(FilterGradient(8, 9, 19)), texts);
}

TEST(ReadyFilters, AreRightForAnyNumberOfChannels) {
  for (const int64_t in : {1, 2, 3, 5, 8}) {
    for (const int64_t out : {1, 2, 3, 7, 9, 17}) TextsOf(FilterGradient(3, in, out));
  }
}

}  // namespace
}  // namespace tartan::compiler::ready_filters_test
