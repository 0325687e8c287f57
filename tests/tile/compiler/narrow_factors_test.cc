// SPDX-License-Identifier: Apache-2.0
// Tests which matmul factors are stored in 16 bits, and that results stay the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/matrix_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/graph/matmul/narrow_operands.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/ir/verify_stored.h"

namespace tartan::compiler::narrow_factors_test {
namespace {

constexpr DataType kNarrow = DataType::kBFloat16;

// Two matmuls of two heads, with integer intermediate values that fit 8 significant bits.
MatrixProgram Layers(const std::string& more, const std::string& outputs) {
  return {"Layers",
          "function (X[M, L], A[L, N], B[N, K]) -> (" + outputs +
              ") { E = X * 2; P[i, j : M, N] = +(E[i, k] * A[k, j]);"
              " H = (P > 3 ? 3 : (P < -3 ? -3 : P)); R = reshape(H, M, 2, N / 2);"
              " T[h, i, j : 2, M, N / 2] = =(R[i, h, j]);"
              " S[h, i, l : 2, M, M] = +(T[h, i, j] * T[h, l, j]);"
              " C[i, j : M, K] = +(H[i, k] * B[k, j]); " +
              more + "}",
          {{48, 40}, {40, 64}, {64, 24}},
          {false, true, true}};
}

DataType TypeOf(const ir::Program& program, const std::string& name) {
  for (const ir::Value& value : program.values) {
    if (value.name == name) return value.shape.type;
  }
  return DataType::kFloat64;
}

TEST(NarrowMatmulOperands, StoresWhatOnlyProductsReadInSixteenBits) {
  const ir::Program narrow = graph::NarrowMatmulOperands(Bind(Layers("", "C, S")), kNarrow);
  EXPECT_TRUE(ir::VerifyStored(narrow).ok()) << ir::VerifyStored(narrow);
  EXPECT_EQ(TypeOf(narrow, "E_narrow"), kNarrow);
  EXPECT_EQ(TypeOf(narrow, "H_narrow"), kNarrow);
  EXPECT_EQ(TypeOf(narrow, "T"), kNarrow);
  EXPECT_EQ(TypeOf(narrow, "P"), DataType::kFloat32);
  EXPECT_EQ(TypeOf(narrow, "C"), DataType::kFloat32);
}

// The pass inserts values, so value ids change; it must update the given ids.
TEST(NarrowMatmulOperands, TellsWhereValuesAre) {
  const ir::Program program = Bind(Layers("", "C, S"));
  std::vector<ir::ValueId> held = {program.outputs[1], program.inputs[0], program.outputs[0]};
  const ir::Program narrow = graph::NarrowMatmulOperands(program, kNarrow, &held);
  EXPECT_NE(held[0], program.outputs[1]);
  EXPECT_THAT(held, testing::ElementsAre(narrow.outputs[1], narrow.inputs[0], narrow.outputs[0]));
}

TEST(NarrowMatmulOperands, LeavesWhatIsReadOtherwise) {
  // H is an output, or another operation reads it through a transpose. Inputs keep their type.
  for (const MatrixProgram& test : {Layers("", "C, S, H"), Layers("Z = exp(T);", "C, S, Z")}) {
    const ir::Program narrow = graph::NarrowMatmulOperands(Bind(test), kNarrow);
    EXPECT_EQ(TypeOf(narrow, "E_narrow"), kNarrow);
    EXPECT_EQ(TypeOf(narrow, "H_narrow"), DataType::kFloat64);
    EXPECT_EQ(TypeOf(narrow, "T"), DataType::kFloat32);
  }
  const MatrixProgram inputs = {
      "Inputs",
      "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }",
      {{48, 40}, {40, 64}}};
  EXPECT_EQ(graph::NarrowMatmulOperands(Bind(inputs), kNarrow), Bind(inputs));
  // The second factor is a vector of scales, so the contraction is not a matmul.
  const MatrixProgram scales = {
      "Scales",
      "function (A[M, N], B[N]) -> (C) { E = A * 2; C[j : N] = +(E[i, j] * B[j]); }",
      {{48, 40}, {40}}};
  EXPECT_EQ(graph::NarrowMatmulOperands(Bind(scales), kNarrow), Bind(scales));
}

TEST(NarrowMatmulOperands, ResultsAreThoseOfTheMatrixUnit) {
  const MatrixProgram test = Layers("", "C, S");
  const ir::Program program = Bind(test);
  const std::vector<HostTensor> inputs = WholeNumbers(test);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const Precision precision : {Precision::kBFloat16, Precision::kFloat16}) {
    CompileOptions options;
    options.settings = MatrixSettings();
    options.precision = precision;
    const auto list = Compile(program, options);
    ASSERT_TRUE(list.ok()) << list.status();
    int narrow = 0;
    for (const BufferInfo& buffer : list->buffers) {
      narrow += buffer.kind == BufferKind::kTemporary && ByteWidth(buffer.shape.type) == 2 ? 1 : 0;
    }
    EXPECT_EQ(narrow, 2);
    const auto actual = InterpretList(*list, inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (size_t o = 0; o < expected->size(); ++o) {
      EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 0), "") << o;
    }
  }
}

}  // namespace
}  // namespace tartan::compiler::narrow_factors_test
