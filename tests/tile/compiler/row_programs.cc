// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/compiler/row_programs.h"

#include "absl/strings/str_cat.h"
#include "tests/tile/testing.h"

namespace tartan {
namespace {

constexpr char kSoftmaxOfFour[] =
    "function (X[N, C, H, W]) -> (O) { M[n, 0, h, w : N, 1, H, W] = >(X[n, c, h, w]); "
    "E = exp(X - M); S[n, 0, h, w : N, 1, H, W] = +(E[n, c, h, w]); O = E / S; }";
constexpr char kAttention[] =
    "function (Q[B, T, D], K[B, U, D], V[B, U, D], Mask) -> (O) { "
    "P[b, t, u : B, T, U] = +(Q[b, t, d] * K[b, u, d]); L = P * 0.25 + Mask; "
    "H[b, t, 0 : B, T, 1] = >(L[b, t, u]); E = exp(L - H); S[b, t, 0 : B, T, 1] = +(E[b, t, u]); "
    "W = E / S; O[b, t, d : B, T, D] = +(W[b, t, u] * V[b, u, d]); }";

}  // namespace

TestProgram SoftmaxOf(int64_t rows, int64_t columns) {
  return {absl::StrCat("Softmax", rows, "x", columns),
          "function (X[M, N]) -> (O) { H[m, 0 : M, 1] = >(X[m, n]); E = exp(X - H); "
          "S[m, 0 : M, 1] = +(E[m, n]); O = E / S; }",
          {F32({rows, columns})}};
}

TestProgram LayerNormalizationOf(int64_t rows, int64_t columns) {
  return {absl::StrCat("LayerNormalization", rows, "x", columns),
          "function (X[M, N], G, B) -> (O) { S[m : M] = +(X[m, n]); A = reshape(S, M, 1) / N; "
          "C = X - A; Q = C * C; V[m : M] = +(Q[m, n]); I = 1 / sqrt(V / N + 0.00001); "
          "O = C * reshape(I, M, 1) * G + B; }",
          {F32({rows, columns}), F32({columns}), F32({columns})}};
}

const std::vector<RowProgram>& RowPrograms() {
  static const auto* const programs = [] {
    auto* list = new std::vector<RowProgram>;
    for (int64_t rows : {1, 3, 37}) {
      for (int64_t columns : {1, 7, 16, 131}) {
        list->push_back({SoftmaxOf(rows, columns)});
        list->push_back({LayerNormalizationOf(rows, columns)});
      }
    }
    const auto add = [&](TestProgram program, int launches) {
      list->push_back({std::move(program), launches});
    };
    add({"LogSoftmax",
         "function (X[M, N]) -> (O) { H[m, 0 : M, 1] = >(X[m, n]); E = exp(X - H); "
         "S[m, 0 : M, 1] = +(E[m, n]); O = X - H - log(S); }",
         {F32({9, 35})}},
        1);
    add({"LossOfLogSoftmax",
         "function (X[M, N], T[M, N]) -> (O) { H[m, 0 : M, 1] = >(X[m, n]); E = exp(X - H); "
         "S[m, 0 : M, 1] = +(E[m, n]); L = (X - H - log(S)) * T; O[m : M] = +(L[m, n]); }",
         {F32({9, 35}), F32({9, 35})}},
        1);
    add({"SoftmaxOverChannels", kSoftmaxOfFour, {F32({2, 5, 3, 19})}}, 1);
    add({"SoftmaxOverRows",
         "function (X[M, N]) -> (O) { H[0, n : 1, N] = >(X[m, n]); E = exp(X - H); "
         "S[0, n : 1, N] = +(E[m, n]); O = E / S; }",
         {F32({6, 41})}},
        1);
    add({"AttentionWeights",
         kAttention,
         {F32({2, 5, 4}), F32({2, 9, 4}), F32({2, 9, 4}), F32({5, 9})}},
        3);
    add({"DataGradientOfSoftmax",
         "function (O[M, N], D[M, N]) -> (G) { P = O * D; S[m, 0 : M, 1] = +(P[m, n]); "
         "G = O * (D - S); }",
         {F32({11, 23}), F32({11, 23})}},
        1);
    add({"VarianceOfEachChannel",
         "function (X[N, C, H]) -> (O) { S[0, c, 0 : 1, C, 1] = +(X[n, c, h]); A = S / (N * H); "
         "D = X - A; Q = D * D; V[0, c, 0 : 1, C, 1] = +(Q[n, c, h]); O = D / sqrt(V + 0.001); }",
         {F32({3, 5, 14})}},
        1);
    add({"IntermediateIsAnOutput",
         "function (X[M, N]) -> (O, E, S) { H[m, 0 : M, 1] = >(X[m, n]); E = exp(X - H); "
         "S[m, 0 : M, 1] = +(E[m, n]); O = E / S; }",
         {F32({7, 18})}},
        1);
    // A per-row scalar that all work-items of the row read is an output, too.
    add({"RowScalarsAreOutputs",
         "function (X[M, N], G, B) -> (O, A, I) { S[m, 0 : M, 1] = +(X[m, n]); A = S / N; "
         "C = X - A; Q = C * C; V[m, 0 : M, 1] = +(Q[m, n]); I = 1 / sqrt(V / N + 0.1); "
         "O = C * I * G + B; }",
         {F32({24, 5}), F32({5}), F32({5})}},
        1);
    add({"TwoConsumers",
         "function (X[M, N]) -> (O, P, Q) { H[m, 0 : M, 1] = >(X[m, n]); O = exp(X - H); "
         "P = X * H; Q[n : N] = +(P[m, n]); }",
         {F32({7, 18})}},
        2);
    add({"NeighbouringRow",
         "function (X[M, N]) -> (O) { S[m : M] = +(X[m, n]); T[m, n : M, N] = +(S[m - 1] + X[m, "
         "n]); "
         "O = T * 2; }",
         {F32({7, 18})}},
        2);
    add({"TransposedAtTheEnd",
         "function (X[M, N]) -> (O) { S[m, 0 : M, 1] = +(X[m, n]); C = X - S; "
         "O[n, m : N, M] = =(C[m, n]); }",
         {F32({13, 21})}},
        2);
    add({"RowsTheOtherWayRound",
         "function (X[M, M]) -> (O) { S[m : M] = +(X[m, n]); O = X - S; }",
         {F32({13, 13})}},
        2);
    add({"KernelBetweenThatNeedsAllRows",
         "function (X[M, N]) -> (O) { S[m, 0 : M, 1] = +(X[m, n]); G[] = >(S[m, n]); "
         "O = X - S / G; }",
         {F32({200, 180})}},
        3);
    add({"ProductOfRows",
         "function (X[M, N], W[N, K]) -> (O) { S[m, 0 : M, 1] = +(X[m, n]); C = X - S / N; "
         "P[m, k : M, K] = +(C[m, n] * W[n, k]); O = P; }",
         {F32({12, 18}), F32({18, 24})}},
        2);
    add({"Halves",
         "function (X[M, N]) -> (O) { H[m, 0 : M, 1] = >(X[m, n]); E = exp(X - H); "
         "S[m, 0 : M, 1] = +(E[m, n]); O = E / S; }",
         {{DataType::kFloat16, {5, 21}}}},
        1);
    add({"Integers",
         "function (X[M, N]) -> (O) { H[m, 0 : M, 1] = >(X[m, n]); O = X - H; }",
         {{DataType::kInt32, {5, 21}}}},
        1);
    add({"FirstElementwise",
         "function (X[M, N], B[N]) -> (O) { Y = tanh(tanh(X) * exp(B) + X / B) * exp(X); "
         "S[m, 0 : M, 1] = +(Y[m, n]); C = Y - S / N; Q = C * C; V[m, 0 : M, 1] = +(Q[m, n]); "
         "O = C / sqrt(V + 1); }",
         {F32({6, 33}), F32({33})},
         0.5,
         2},
        1);
    // D is used for its shape only.
    add({"OnlyItsShapeIsRead",
         "function (A[N]) -> (I) { S[x : 1] = +(A[2 * x + w]), w < 2; L = log(1.0 + S * S); "
         "D = L - L; I = index(D, 0); }",
         {F32({5})}},
        1);
    return list;
  }();
  return *programs;
}

}  // namespace tartan
