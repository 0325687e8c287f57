// SPDX-License-Identifier: Apache-2.0
// Tests which buffers with rows of odd lengths are padded, and that results stay the same.
#include "tile/compiler/pad_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/matrix_programs.h"
#include "tests/tile/compiler/programs.h"

namespace tartan::compiler::pad_rows_test {
namespace {

KernelList Compile(const TestProgram& test, Precision precision, bool pads) {
  std::set<std::string> left_out = {"fuse-attention"};  // would fuse small matmuls into one launch
  if (!pads) left_out.insert("pad-rows");
  return CompileForMatrixUnit(BindTestProgram(test), *FormatOf(precision), precision, left_out);
}

// Counts the temporary buffers with rows of this length.
int64_t CountRows(const KernelList& list, int64_t length) {
  return std::count_if(list.buffers.begin(), list.buffers.end(), [&](const BufferInfo& buffer) {
    return buffer.kind == BufferKind::kTemporary && !buffer.shape.dims.empty() &&
           buffer.shape.dims.back() == length;
  });
}

// Expects `padded` buffers with rows of `length`, and the same results as without the pass.
void ExpectPadded(const TestProgram& test, int64_t padded, int64_t length,
                  Precision precision = Precision::kTf32) {
  const KernelList list = Compile(test, precision, true);
  const KernelList without = Compile(test, precision, false);
  EXPECT_EQ(CountRows(list, length), padded);
  EXPECT_EQ(CountRows(without, length), 0);
  EXPECT_EQ(list.steps.size(), without.steps.size());
  // The order of additions may differ between tilings.
  ExpectSameResults(list, without, RandomInputs(test, 11), 1e-5);
}

TestProgram Attention(const std::string& more = "", const std::string& outputs = "O",
                      DataType type = DataType::kFloat32) {
  const TensorShape tokens = {type, {2, 53, 16}};
  return {"attention",
          absl::StrCat("function (Q[H, S, D], K[H, S, D], V[H, S, D]) -> (", outputs,
                       ") {\n"
                       "T[h, i, j : H, S, S] = +(Q[h, i, d] * K[h, j, d]);\n"
                       "M[h, i, 0 : H, S, 1] = >(T[h, i, j]);\n"
                       "E = exp(T - M);\n"
                       "N[h, i, 0 : H, S, 1] = +(E[h, i, j]);\n"
                       "P = E / N;\n",
                       more, "O[h, i, d : H, S, D] = +(P[h, i, j] * V[h, j, d]);\n}"),
          {tokens, tokens, tokens}};
}

TEST(PadRows, PadsScoresAndProbabilities) { ExpectPadded(Attention(), 2, 56); }

TEST(PadRows, PadsRowsThatOthersRead) {
  ExpectPadded(Attention("R[h, i : H, S] = +(P[h, i, j]);\n", "O, R"), 2, 56);
}

TEST(PadRows, LeavesOutputsAsTheyAre) { ExpectPadded(Attention("", "O, P"), 1, 56); }

TEST(PadRows, LeavesWhatIsReadInAnotherShape) {
  ExpectPadded(Attention("U = reshape(P, 53, 106); R[i : 53] = +(U[i, j]);\n", "O, R"), 1, 56);
}

TEST(PadRows, LeavesWhatFillsTheGapsOfAnother) {
  const TestProgram test = {"written_over",
                            "function (A[M, L], B[L, N], Z[M, K], Y[K, H]) -> (O) {\n"
                            "T[i, j : M, N] = +(A[i, k] * B[k, j]);\n"
                            "O[i, 2 * j : M, N] = +(Z[i, k] * Y[k, j]) default T;\n}",
                            {{DataType::kFloat32, {70, 24}},
                             {DataType::kFloat32, {24, 53}},
                             {DataType::kFloat32, {70, 20}},
                             {DataType::kFloat32, {20, 22}}}};
  ExpectPadded(test, 0, 56);
}

TEST(PadRows, LeavesShortRows) {
  TestProgram test = Attention();
  for (TensorShape& shape : test.inputs) shape.dims[1] = 29;
  ExpectPadded(test, 0, 32);
}

TEST(PadRows, PadsToVectorsOfHalves) {
  // The probabilities are stored in 16 bits.
  ExpectPadded(Attention(), 2, 56, Precision::kBFloat16);
}

}  // namespace
}  // namespace tartan::compiler::pad_rows_test
