// SPDX-License-Identifier: Apache-2.0
// Tests which values share a kernel, and which are stored in memory.
#include "tile/graph/grouping/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/testing.h"

namespace tartan::graph::group_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Not;

ir::ValueId Named(const ir::Program& program, const std::string& name) {
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (program.values[v].name == name) return static_cast<ir::ValueId>(v);
  }
  ADD_FAILURE() << "no value " << name << "\n" << ir::ToString(program);
  return 0;
}

ir::Program Bound(const std::string& code, std::vector<TensorShape> inputs) {
  return BindTestProgram({"test", code, std::move(inputs)});
}

ir::Grouping GroupingOf(const ir::Program& program, const GroupOptions& options = {}) {
  const auto spaces = poly::AnalyzeProgram(program);
  EXPECT_TRUE(spaces.ok()) << spaces.status();
  return GroupIntoKernels(program, *spaces, options);
}

// Returns the stored values of each kernel, in order.
std::vector<std::string> Kernels(const ir::Program& program, const GroupOptions& options = {}) {
  std::vector<std::string> kernels;
  for (const ir::KernelGroup& group : GroupingOf(program, options).groups) {
    kernels.push_back(absl::StrJoin(group.outputs, "+", [&](std::string* out, ir::ValueId v) {
      out->append(program.values[v].name);
    }));
  }
  return kernels;
}

std::vector<std::string> Kernels(const std::string& code, std::vector<TensorShape> inputs,
                                 const GroupOptions& options = {}) {
  return Kernels(Bound(code, std::move(inputs)), options);
}

const char kProduct[] =
    "function (A[M, K], B[K, N], D) -> (R) { P[i, j : M, N] = +(A[i, k] * B[k, j]); S = P + D;"
    " R = relu(S); }";
const std::vector<TensorShape> kProductShapes = {F32({6, 5}), F32({5, 4}), F32({4})};

TEST(Group, IsOneOperationWithoutFusion) {
  GroupOptions options;
  options.fuse = false;
  EXPECT_THAT(Kernels(kProduct, kProductShapes, options), ElementsAre("P", "S", "R"));
}

TEST(Group, HasTheElementwiseOperationsAfterAReduction) {
  EXPECT_THAT(Kernels(kProduct, kProductShapes), ElementsAre("R"));
}

TEST(Group, StoresWhatIsReadElsewhereToo) {
  const std::string code =
      "function (A[M, K], B[K, N]) -> (S, R) { P[i, j : M, N] = +(A[i, k] * B[k, j]);"
      " S = exp(P); R = S + P; }";
  EXPECT_THAT(Kernels(code, {F32({6, 5}), F32({5, 4})}), ElementsAre("S+R"));
}

// An activation Y of a matmul P, read by another matmul, and its derivative in the backward pass.
std::vector<std::string> KernelsOfActivation(const std::string& activation,
                                             const std::string& derivative,
                                             const GroupOptions& options = {}) {
  return Kernels(
      "function (A[M, K], B[K, N], C[N, L], D[M, L], X) -> (Q, R) {"
      " P[i, j : M, N] = +(A[i, k] * B[k, j]); " +
          activation +
          " Q[i, l : M, L] = +(Y[i, j] * C[j, l]);"
          " G[i, j : M, N] = +(D[i, l] * C[j, l]); R = " +
          derivative + "; }",
      {F32({6, 5}), F32({5, 8}), F32({8, 8}), F32({6, 8}), F32({6, 8})}, options);
}

TEST(Group, RecomputesValuesOfAnEpilogueWhereOneStoredValueIsEnough) {
  const std::string activation = "S = tanh(P); T = exp(P); Y = P * S;";
  EXPECT_THAT(KernelsOfActivation(activation, "G * S * T"), ElementsAre("P+Y", "Q", "R"));
  EXPECT_THAT(KernelsOfActivation(activation, "G * S + P"), ElementsAre("P+Y", "Q", "R"));
  GroupOptions options;
  options.max_inlined_operations = 0;
  EXPECT_THAT(KernelsOfActivation(activation, "G * S * T", options),
              ElementsAre("S+T+Y", "Q", "R"));
}

TEST(Group, StoresTheLastValueOfAnEpilogueThatIsReadAlone) {
  EXPECT_THAT(KernelsOfActivation("S = tanh(P); Y = P * S;", "G * S"),
              ElementsAre("S+Y", "Q", "R"));
}

TEST(Group, RecomputesFromTheResultOfAnActivation) {
  // The matmul Q reads Y anyway.
  EXPECT_THAT(KernelsOfActivation("Y = tanh(P); S = 1 - Y * Y;", "G * S"),
              ElementsAre("Y", "Q", "R"));
}

TEST(Group, RecomputesWithSmallValuesOfAnotherEpilogue) {
  const std::string code =
      "function (A[M, K], B[K, N], C[N, L]) -> (Q, R) { G[j : N] = +(C[j, l]); F = tanh(G);"
      " P[i, j : M, N] = +(A[i, k] * B[k, j]); S = P * F;"
      " Q[i, l : M, L] = +(P[i, j] * C[j, l]); R[j : N] = +(S[i, j]); }";
  EXPECT_THAT(Kernels(code, {F32({6, 5}), F32({5, 8}), F32({8, 8})}),
              ElementsAre("F", "P", "Q", "R"));
}

TEST(Group, RecomputesNothingFromSeveralWholeTensors) {
  EXPECT_THAT(KernelsOfActivation("S = P * X; T = exp(S + X); Y = S * T;", "G * T * S"),
              ElementsAre("S+T+Y", "Q", "R"));
}

TEST(Group, RecomputesNothingThatAMatmulReads) {
  // Q reads Y, and R reads S, in a matmul.
  const std::string code =
      "function (A[M, K], B[K, N], C[N, L]) -> (Q, R) { P[i, j : M, N] = +(A[i, k] * B[k, j]);"
      " S = tanh(P); Y = P * S; Q[i, l : M, L] = +(Y[i, j] * C[j, l]);"
      " R[i, l : M, L] = +(S[i, j] * C[j, l]); }";
  EXPECT_THAT(Kernels(code, {F32({6, 5}), F32({5, 8}), F32({8, 8})}), ElementsAre("S+Y", "Q", "R"));
}

TEST(Group, RecomputesFromAValueThatTheSameKernelReadsAnyway) {
  // The last reduction reads H twice: for the comparison of D, too.
  const std::string code =
      "function (A[M, K], B[K, N]) -> (R) { P[i, j : M, N] = +(A[i, k] * B[k, j]);"
      " H = as_bfloat(P); X[i, 0 : M, 1] = >(H[i, j]); C = H == X; D = H > 1.0;"
      " E = C && D; F = E ? 2.0 : 1.0; R[i : M] = <(F[i, j]); }";
  EXPECT_THAT(Kernels(code, {F32({6, 5}), F32({5, 8})}), ElementsAre("H", "X", "R"));
}

TEST(Group, TakesNoMoreOperationsAfterAReductionThanAllowed) {
  GroupOptions options;
  options.max_epilogue_operations = 1;
  EXPECT_THAT(Kernels(kProduct, kProductShapes, options), ElementsAre("S", "R"));
}

TEST(Group, EndsWhereOtherElementsOfTheReductionAreNeeded) {
  const std::string code =
      "function (X[N, C]) -> (R) { M[n, 0 : N, 1] = >(X[n, c]); E = exp(X - M);"
      " T[n, 0 : N, 1] = +(E[n, c]); R = E / T; }";
  EXPECT_THAT(Kernels(code, {F32({8, 16})}), ElementsAre("M", "T", "R"));
}

TEST(Group, JoinsTheLaterOfTwoReductions) {
  const std::string code =
      "function (A[M, K], B[M, L]) -> (R) { P[i : M] = +(A[i, k]); Q[i : M] = +(B[i, l]);"
      " R = P - Q; }";
  EXPECT_THAT(Kernels(code, {F32({6, 5}), F32({6, 7})}), ElementsAre("P", "R"));
}

TEST(Group, ComputesOperandsOfAReductionWhereTheyAreReadOnce) {
  const std::string code = "function (A[M, K]) -> (P) { E = exp(A); P[i : M] = +(E[i, k]); }";
  EXPECT_THAT(Kernels(code, {F32({6, 5})}), ElementsAre("P"));
}

TEST(Group, HoldsOperandsThatAReductionReadsAgainAndAgain) {
  const std::string code =
      "function (A[M, K], B[K, N]) -> (P) { E = exp(A); P[i, j : M, N] = +(E[i, k] * B[k, j]); }";
  EXPECT_THAT(Kernels(code, {F32({6, 5}), F32({5, 2})}), ElementsAre("P"));
  EXPECT_THAT(Kernels(code, {F32({6, 5}), F32({5, 3})}), ElementsAre("E", "P"));
}

TEST(Group, RepeatsCheapOperationsForFewKernels) {
  const auto kernels = [](int count) {
    std::string outputs = "R0";
    std::string text = "E = A + B;";
    for (int i = 0; i < count; ++i) {
      if (i > 0) outputs += ", R" + std::to_string(i);
      text += " R" + std::to_string(i) + "[i : M] = +(E[i, k]);";
    }
    return Kernels("function (A[M, K], B) -> (" + outputs + ") { " + text + " }",
                   {F32({6, 5}), F32({6, 5})});
  };
  EXPECT_THAT(kernels(4), ElementsAre("R0", "R1", "R2", "R3"));
  EXPECT_THAT(kernels(5), ElementsAre("E", "R0", "R1", "R2", "R3", "R4"));
}

TEST(Group, HoldsWhatWouldRepeatTooMuch) {
  const std::string code = "function (A, B, C) -> (R) { E = A + B; F = E + C; R = F * F; }";
  GroupOptions options;
  options.max_inlined_operations = 1;
  const std::vector<TensorShape> shapes = {F32({8}), F32({8}), F32({8})};
  EXPECT_THAT(Kernels(code, shapes), ElementsAre("R"));
  EXPECT_THAT(Kernels(code, shapes, options), ElementsAre("F", "R"));
}

TEST(Group, ReadsNoMoreTensorsThanAllowed) {
  const std::string code = "function (A, B, C) -> (R) { E = A + B; R = exp(E * C); }";
  GroupOptions options;
  options.max_inlined_reads = 2;
  const std::vector<TensorShape> shapes = {F32({8}), F32({8}), F32({8})};
  EXPECT_THAT(Kernels(code, shapes, options), Not(ElementsAre("R")));
}

TEST(Group, HoldsAndInlinesWhatItIsTold) {
  const std::string code =
      "function (A[M, K], B[K, N]) -> (P) { E = exp(A); F = -B;"
      " P[i, j : M, N] = +(E[i, k] * F[k, j]); }";
  const ir::Program program = Bound(code, {F32({6, 5}), F32({5, 3})});
  GroupOptions options;
  options.held = {Named(program, "F")};
  options.inlined = {Named(program, "E")};
  EXPECT_THAT(Kernels(program, options), ElementsAre("F", "P"));
}

TEST(Group, HasViewsForReshapes) {
  const std::string code =
      "function (A[M, K], B[K, N]) -> (R) { P[i, j : M, N] = +(A[i, k] * B[k, j]);"
      " R = reshape(P, M * N); }";
  const ir::Program program = Bound(code, {F32({6, 5}), F32({5, 4})});
  const ir::Grouping grouping = GroupingOf(program);
  ASSERT_THAT(Kernels(program), ElementsAre("P"));
  EXPECT_EQ(grouping.storage[Named(program, "R")], Named(program, "P"));
  EXPECT_TRUE(grouping.in_memory[Named(program, "R")]);
}

TEST(Group, HoldsWhatAGatherReadsFrom) {
  const std::string code = "function (A, I) -> (R) { E = exp(A); R = gather(E, I); }";
  EXPECT_THAT(Kernels(code, {F32({9, 4}), {DataType::kInt32, {3}}}), ElementsAre("E", "R"));
}

TEST(Group, ComputesTheFactorsOfANormalisationAtLoad) {
  const std::string code =
      "function (X[N, C], G[C], V[C]) -> (R) { S = G / sqrt(V + 0.001); R = X * S; }";
  ir::Program program = Bound(code, {F32({8, 4}), F32({4}), F32({4})});
  EXPECT_THAT(Kernels(program), ElementsAre("R"));
  for (const int input : {1, 2}) {
    std::get<ir::Input>(program.values[program.inputs[input]].op).is_constant = true;
  }
  EXPECT_THAT(Kernels(program), ElementsAre("S", "R"));
}

TEST(Group, JoinsConstantsAtLoad) {
  const std::string code =
      "function (A[M, K], B[N, K], X) -> (R) { P[i, k : M + N, K] = =(A[i, k]);"
      " J[i + M, k : M + N, K] = =(B[i, k]) default P; T[k, i : K, M + N] = =(J[i, k]);"
      " R = X + T; }";
  ir::Program program = Bound(code, {F32({3, 5}), F32({4, 5}), F32({5, 7})});
  EXPECT_THAT(Kernels(program), ElementsAre("R"));
  for (const int input : {0, 1}) {
    std::get<ir::Input>(program.values[program.inputs[input]].op).is_constant = true;
  }
  EXPECT_THAT(Kernels(program), ElementsAre("J", "R"));
}

TEST(Group, KeepsReductionsOfConstantsApartFromWhatEachRunComputes) {
  const std::string code = "function (W[M, K], X) -> (R) { P[i : M] = +(W[i, k]); R = P + X; }";
  ir::Program program = Bound(code, {F32({6, 5}), F32({6})});
  EXPECT_THAT(Kernels(program), ElementsAre("R"));
  std::get<ir::Input>(program.values[program.inputs[0]].op).is_constant = true;
  EXPECT_THAT(Kernels(program), ElementsAre("P", "R"));
}

TEST(Group, StoresTheNarrowFormOfWhatOthersReadWidened) {
  // The narrow value is computed by a matmul's kernel, then by an elementwise kernel.
  EXPECT_THAT(Kernels("function (A[M, K], B[K, N], C[N, L]) -> (R) { P[i, j : M, N] = +(A[i, k] * "
                      "B[k, j]); H = as_bfloat(P); W = as_float(H, 32); S = relu(W);"
                      " R[i, l : M, L] = +(W[i, j] * C[j, l]) ; }",
                      {F32({6, 5}), F32({5, 4}), F32({4, 3})}),
              ElementsAre("H", "R"));
  EXPECT_THAT(Kernels("function (A[M, N], C[N, L]) -> (R) { E = exp(A); H = as_float(E, 16);"
                      " W = as_float(H, 32); R[i, l : M, L] = +(W[i, j] * C[j, l]); }",
                      {F32({6, 40}), F32({40, 30})}),
              ElementsAre("H", "R"));
}

TEST(Group, StoresAnOutputThatIsWidenedAsItIs) {
  EXPECT_THAT(Kernels("function (A) -> (W) { E = exp(A); H = as_bfloat(E); W = as_float(H, 32); }",
                      {F32({6, 40})}),
              ElementsAre("W"));
}

TEST(Group, HasValuesThatAnotherOneReadsFirst) {
  const char* const code =
      "function (A[M, N], B, W[N, L]) -> (R) { C = exp(A) * B + sin(A); H = tanh(C) * B;"
      " P[i, l : M, L] = +(H[i, j] * W[j, l]); S[i, j : M, N] = =(P[i, j]);"
      " T[i, j : M, N] = =(P[i, j + N]); R = exp(S) * T + sin(C); }";
  EXPECT_THAT(Kernels(code, {F32({6, 8}), F32({6, 8}), F32({8, 16})}),
              ElementsAre("C+H", "P", "R"));
}

TEST(Group, StoresAValueByItselfOfWhichOtherElementsAreRead) {
  // M would share the kernel of Y, which also computes X and reads M at other indices.
  const std::string code =
      "function (A, I) -> (M, X, Y) { M = exp(A); X = abs(M); G = gather(M, as_int(I, 32), 0);"
      " Y = X + G; }";
  EXPECT_THAT(Kernels(code, {F32({8}), F32({8})}), ElementsAre("M", "X+Y"));
  const std::string in_place =
      "function (A, B) -> (M, X, Y) { M = exp(A); X = abs(M); Y = X + M * B; }";
  EXPECT_THAT(Kernels(in_place, {F32({8}), F32({8})}), ElementsAre("M+X+Y"));
}

TEST(Group, StoresAStateByItselfOfWhichOtherElementsAreRead) {
  ir::Program program = Bound(
      "function (C, H, I) -> (C2, H2) { C2 = exp(C); H2 = H + gather(C2, as_int(I, 32), 0); }",
      {F32({8}), F32({8}), F32({8})});
  std::get<ir::Input>(program.values[program.inputs[0]].op).next = 0;
  std::get<ir::Input>(program.values[program.inputs[1]].op).next = 1;
  EXPECT_THAT(Kernels(program), ElementsAre("C2", "H2"));
}

TEST(Group, CountsWhatIsStoredAnywayAsRead) {
  // C counts as one operation, so E and F have three operations each.
  const char* const code =
      "function (A, B) -> (E, F) { C = exp(A) * B + sin(B); E = tanh(exp(C) * B);"
      " F = cos(exp(C) + B); }";
  GroupOptions options;
  options.max_inlined_operations = 5;
  EXPECT_THAT(Kernels(code, {F32({8}), F32({8})}, options), ElementsAre("C+E", "F"));
}

TEST(Group, StoresAValueByItselfThatIsReadElsewhereToo) {
  const char* const code =
      "function (A[M, N], B) -> (C, H) { C = exp(A) * B + sin(A); T[i, j : M, N] = =(C[j, i]);"
      " H = tanh(C) * T; }";
  EXPECT_THAT(Kernels(code, {F32({8, 8}), F32({8, 8})}), ElementsAre("C", "H"));
}

TEST(Group, StoresAValueByItselfThatIsNeededSooner) {
  // Q depends on C, and H depends on Q.
  const char* const code =
      "function (A[M, N], B, W[N, L]) -> (H) { C = exp(A) * B + sin(A);"
      " Q[i, l : M, L] = +(C[i, j] * W[j, l]); S = exp(Q) + C; P[i, l : M, L] = +(S[i, j] * W[j, "
      "l]);"
      " H = tanh(C) * P; }";
  EXPECT_THAT(Kernels(code, {F32({6, 8}), F32({6, 8}), F32({8, 8})}), ElementsAre("C", "S", "H"));
}

TEST(Group, ReadsRoundedWeightsInTheirOwnPrecisionWhereRoundingIsFree) {
  const char* const code =
      "function (A[M, K], W[N, K], D[M, N]) -> (P, G) { R = as_bfloat(W); T[k, j : K, N] = =(R[j, "
      "k]); F = as_float(T, 32); P[i, j : M, N] = +(A[i, k] * F[k, j]);"
      " G[i, k : M, K] = +(D[i, j] * F[k, j]); }";
  const std::vector<TensorShape> shapes = {F32({64, 8}), F32({6, 8}), F32({64, 6})};
  GroupOptions options;
  options.rounded_in_memory = DataType::kBFloat16;
  EXPECT_THAT(Kernels(code, shapes, options), ElementsAre("F", "P", "G"));
  options.inlines_roundings = true;
  EXPECT_THAT(Kernels(code, shapes, options), ElementsAre("P", "G"));
  options.rounded_in_memory = DataType::kFloat16;
  EXPECT_THAT(Kernels(code, shapes, options), ElementsAre("F", "P", "G"));
}

TEST(Group, StoresWhatIsRepeatedOnce) {
  const char* const code =
      "function (A[M, N], W[R, M, L]) -> (P) { C = exp(A) * A + sin(A);"
      " E[r, i, j : R, M, N] = =(C[i, j]); P[r, j, l : R, N, L] = +(E[r, i, j] * W[r, i, l]); }";
  EXPECT_THAT(Kernels(code, {F32({6, 8}), F32({3, 6, 8})}), ElementsAre("C", "P"));
}

}  // namespace
}  // namespace tartan::graph::group_test
