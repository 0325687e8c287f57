// SPDX-License-Identifier: Apache-2.0
// Contractions of the same form share one analysis; each must receive the result of its own form.
#include "tile/poly/analysis/analyze_program.h"

#include <gtest/gtest.h>

#include <vector>

#include "tile/lang/binder.h"
#include "tile/lang/parser.h"
#include "tile/poly/analysis/analyze_contraction.h"

namespace tartan::poly {
namespace {

TEST(AnalyzeProgram, GivesEachContractionWhatItsOwnAnalysisGives) {
  const char* code =
      "function (A[M, K], B[K, K], C[M, L]) -> (O1, O2, O3, O4, O5, O6, O7, O8, O9) {"
      " O1[m, n : M, K] = +(A[m, k] * B[k, n]);"
      " O2[m, n : M, K] = +(O1[m, k] * B[k, n]);"     // same form, other tensors
      " O3[m, n : M, K] = +(O1[m, k] * B[n, k]);"     // other polynomials
      " O4[m, n : M, L] = +(C[m, k] * C[k, n]);"      // other sizes
      " O5[m, n : M, K - 1] = +(A[m, k] * B[k, n]);"  // another output size
      " O6[m, n : M, K] = +(A[m, k] * B[k, n]), k < 3;"
      " O7[m, n : M, K] = +(A[m, k] * B[k, n]), k < 4;"
      " O8[m, x : M, K] = +(A[m, k] * B[k, x]);"  // another index name
      " O9[m, n : M, K] = =(A[m, n]) default O1; }";
  const std::vector<TensorShape> shapes = {
      {DataType::kFloat32, {5, 7}}, {DataType::kFloat32, {7, 7}}, {DataType::kFloat32, {5, 9}}};
  const ir::Program program = lang::Bind(lang::Parse(code).value(), shapes).value();
  const auto spaces = AnalyzeProgram(program);
  ASSERT_TRUE(spaces.ok()) << spaces.status();
  int contractions = 0;
  for (size_t v = 0; v < program.values.size(); ++v) {
    const auto* contraction = std::get_if<ir::Contraction>(&program.values[v].op);
    ASSERT_EQ((*spaces)[v].has_value(), contraction != nullptr);
    if (contraction == nullptr) continue;
    ++contractions;
    std::vector<std::vector<int64_t>> input_dims;
    for (const ir::Access& access : contraction->inputs) {
      input_dims.push_back(program.values[access.tensor].shape.dims);
    }
    const auto own = AnalyzeContraction(*contraction, program.values[v].shape.dims, input_dims);
    ASSERT_TRUE(own.ok()) << own.status();
    EXPECT_EQ(ToString(*(*spaces)[v]), ToString(*own)) << program.values[v].name;
  }
  EXPECT_EQ(contractions, 9);
}

}  // namespace
}  // namespace tartan::poly
