// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/compiler/half_programs.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace tartan {
namespace {

using Dims = std::vector<int64_t>;

struct Text {
  const char* name;
  const char* code;
  std::vector<Dims> halves;  // shapes of the 16-bit inputs A, B, …
  std::vector<Dims> places;  // shapes of the integer inputs after them
};

const std::vector<Text>& Texts() {
  static const auto* const texts = new std::vector<Text>{
      {"ScatterNdIntoInput",
       "function (A, U, I) -> (O) { O = scatter_nd(A, I, U); }",
       {{3, 5}, {2, 5}},
       {{2, 1}}},
      {"ScatterNdIntoComputed",
       "function (A, U, I) -> (O) { O = scatter_nd(relu(A), I, U); }",
       {{3, 5}, {2, 5}},
       {{2, 1}}},
      {"ScatterNdOfComputed",
       "function (A, U, I) -> (O) { O = scatter_nd(A, I, exp(U)); }",
       {{3, 5}, {2, 5}},
       {{2, 1}}},
      {"ScatterNdThenMore",
       "function (A, U, I) -> (O, P) { S = scatter_nd(A, I, exp(U)); O = S + S; P = reshape(S, "
       "15); }",
       {{3, 5}, {2, 5}},
       {{2, 1}}},
      {"ScatterNdAdds",
       "function (A, U, I) -> (O) { S = scatter_nd(A, I, exp(U), 1); O = S * 2; }",
       {{3, 5}, {6, 5}},
       {{6, 1}}},
      {"ScatterNdMultipliesComputed",
       "function (A, U, I) -> (O) { S = scatter_nd(-A, I, U, 2); O = S; }",
       {{3, 5}, {6, 5}},
       {{6, 1}}},
      {"ScatterNdTakesGreatestOfComputed",
       "function (A, U, I) -> (O) { O = scatter_nd(tanh(A), I, tanh(U), 4); }",
       {{3, 5}, {6, 5}},
       {{6, 1}}},
      {"ScatterElementsIntoComputed",
       "function (A, U, I) -> (O) { O = scatter_elements(abs(A), I, U, 1); }",
       {{3, 5}, {3, 4}},
       {{3, 4}}},
      {"ScatterElementsTakesLeast",
       "function (A, U, I) -> (O) { S = scatter_elements(A, I, exp(U), 0, 3); O = S - 1; }",
       {{3, 5}, {7, 5}},
       {{7, 5}}},
      {"ScatterElementsIntoReshaped",
       "function (A, U, I) -> (O) { R = reshape(A, 15); O = scatter_elements(R, I, U, 0, 1); }",
       {{3, 5}, {7}},
       {{7}}},
      {"ScatterIntoScattered",
       "function (A, U, I) -> (O) { S = scatter_nd(A, I, U, 1); O = scatter_nd(S, I, U); }",
       {{3, 5}, {2, 5}},
       {{2, 1}}},
      {"ScatterOfComputed",
       "function (A, V, I) -> (O) { S = scatter(exp(A), I, V); O = S / 3; }",
       {{4, 5}, {3, 5}},
       {{4}}},
      {"ScatterOfManyOnes",
       "function (A, V, I) -> (O) { S = scatter(A * 0 + 1, I, V); O = S - 2999; }",
       {{3000}, {1}},
       {{3000}}},
      {"ScatterNdAddsManyOnes",
       "function (A, U, I) -> (O) { S = scatter_nd(A * 0, I, U * 0 + 1, 1); O = S - 2999; }",
       {{1}, {3000}},
       {{3000, 1}}},
      {"ScatterRoundsWhatItPuts",
       "function (A, U, I) -> (O, P) { E = exp(U); S = scatter_nd(exp(A), I, E); "
       "O = (gather_nd(S, I) - E) * 64; T = scatter_nd(A, I, E, 4); "
       "P = (gather_nd(T, I) - E) * 64; }",
       {{3, 5}, {2, 5}},
       {{2, 1}}},
      {"SortOfInput", "function (A) -> (O) { O = sort(A, 1); }", {{3, 5}}, {}},
      {"SortOfComputed", "function (A) -> (O) { O = sort(exp(A), 1, 1); }", {{3, 5}}, {}},
      {"LongSortOfComputed",
       "function (A) -> (O, P) { S = sort(exp(A), 0); O = S * 2; P = S; }",
       {{70, 3}},
       {}},
      {"PositionsOfComputed", "function (A) -> (O) { O = argsort(-A, 0); }", {{70, 3}}, {}},
      {"RunningSumOfComputed",
       "function (A) -> (O, P) { S = cumsum(exp(A), 1); O = S / 16; P = cumprod(A, 0, 1, 1); }",
       {{3, 9}},
       {}},
      {"RunningSumOfManyOnes",
       "function (A) -> (O) { O = cumsum(A * 0 + 1, 0) - 2998; }",
       {{3000}},
       {}},
      {"DefaultFromInput",
       "function (A[N, M], B) -> (O) { S[2 * i, j : 2 * N, M] = +(A[i, j]) default B; O = exp(S); "
       "}",
       {{3, 5}, {6, 5}},
       {}},
      {"DefaultFromComputed",
       "function (A[N, M], B) -> (O) { D = exp(B); O[2 * i, j : 2 * N, M] = =(A[i, j]) default D; "
       "}",
       {{3, 5}, {6, 5}},
       {}},
      {"DefaultOfComputed",
       "function (A[N, M], B) -> (O) { C = exp(A); "
       "O[2 * i, j : 2 * N, M] = +(C[i, j]) default B; }",
       {{3, 5}, {6, 5}},
       {}},
      {"DefaultOfReduction",
       "function (A[N, M], B) -> (O) { S[2 * i : 2 * N] = +(A[i, j]) default B; O = S * 0.5; }",
       {{3, 5}, {6}},
       {}},
      {"DefaultFromReshaped",
       "function (A[N, M], B) -> (O) { R = reshape(B, 2 * N, M); "
       "O[2 * i, j : 2 * N, M] = =(A[i, j]) default R; }",
       {{3, 5}, {30}},
       {}},
      {"DiagonalOverInput",
       "function (A[N], B) -> (O) { S[i, i : N, N] = =(A[i]) default B; O = exp(S); }",
       {{5}, {5, 5}},
       {}},
      {"DiagonalOverComputed",
       "function (A[N], B) -> (O) { D = exp(B); O[i, i : N, N] = =(A[i]) default D; }",
       {{5}, {5, 5}},
       {}},
      {"DiagonalOverReshaped",
       "function (A[N], B) -> (O) { D = reshape(-B, N, N); O[i, i : N, N] = =(A[i]) default D; }",
       {{5}, {25}},
       {}},
      {"DiagonalOverWhatIsUsedTwice",
       "function (A[N], B) -> (O, P) { D = exp(B); S[i, i : N, N] = =(A[i]) default D; O = S - D; "
       "P = sort(D, 0); }",
       {{5}, {5, 5}},
       {}},
      {"GatherFromComputed",
       "function (A, I) -> (O, P) { C = exp(A); O = gather(C, I); P = gather(A, I); }",
       {{3, 5}},
       {{4, 2}}},
      {"GatherElementsFromComputed",
       "function (A, I) -> (O) { S = gather_elements(exp(A), I, 0); O = S; }",
       {{3, 5}},
       {{4, 5}}},
      {"GatherNdFromScattered",
       "function (A, U, I) -> (O) { S = scatter_nd(exp(A), I, U); O = gather_nd(S, I); }",
       {{3, 5}, {2, 5}},
       {{2, 1}}},
      {"ViewsAsOutputs",
       "function (A[N, M]) -> (O, P, Q) { O = reshape(A, N * M); C = exp(A); P = reshape(C, M, N); "
       "Q = reshape(sort(A, 0), N * M); }",
       {{3, 5}},
       {}},
      {"OneValueTwice",
       "function (A) -> (O, P, Q) { O = exp(A); P = O; Q = O + A; }",
       {{3, 5}},
       {}},
      {"ConcatenationOfComputedAndInput",
       "function (A[N, M], B) -> (O) { C = exp(A); T[i, j : 2 * N, M] = =(C[i, j]); "
       "O[i + N, j : 2 * N, M] = =(B[i, j]) default T; }",
       {{3, 5}, {3, 5}},
       {}},
      {"RoundTripOfACast",
       "function (A) -> (O) { E = exp(A); R = as_float(as_float(E, 16), 32); "
       "S = as_float(as_bfloat(E), 32); O = (E - R) * 1024 + (E - S) * 16; }",
       {{3, 5}},
       {}},
      {"SoftmaxRoundedAtEveryStep",
       "function (A[N, M]) -> (O) { X = as_bfloat(as_float(A, 32) * 3.7); "
       "H[n, 0 : N, 1] = >(X[n, m]); D = as_bfloat(X - H); E = as_bfloat(exp(D)); "
       "S[n, 0 : N, 1] = +(E[n, m]); T = as_bfloat(S); Q = as_bfloat(E / T); O = as_float(Q, 32); "
       "}",
       {{3, 19}},
       {}},
      {"ProductOfRounded",
       "function (A[M, L], B[L, N]) -> (O) { X = as_float(as_float(A, 32) * 0.3, 16); "
       "Y = as_bfloat(exp(as_float(B, 32))); P[i, j : M, N] = +(X[i, k] * Y[k, j]); "
       "R = as_float(P, 16); O = as_float(R, 32) - as_float(P, 32); }",
       {{7, 9}, {9, 17}},
       {}},
  };
  return *texts;
}

TestProgram Of(const Text& text, DataType type) {
  TestProgram program{
      absl::StrCat(text.name, type == DataType::kFloat16 ? "Half" : "BFloat"), text.code, {}, 0, 2};
  for (const Dims& dims : text.halves) program.inputs.push_back({type, dims});
  for (const Dims& dims : text.places) program.inputs.push_back({DataType::kInt32, dims});
  return program;
}

}  // namespace

const std::vector<TestProgram>& HalfPrograms() {
  static const auto* const programs = [] {
    auto* list = new std::vector<TestProgram>;
    for (const Text& text : Texts()) {
      for (const DataType type : {DataType::kFloat16, DataType::kBFloat16}) {
        list->push_back(Of(text, type));
      }
    }
    return list;
  }();
  return *programs;
}

}  // namespace tartan
