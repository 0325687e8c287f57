// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/compiler/programs.h"

#include <cmath>
#include <random>
#include <stdexcept>

#include "tests/tile/testing.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan {
namespace {

TensorShape Of(DataType type, std::vector<int64_t> dims) { return {type, std::move(dims)}; }

}  // namespace

const std::vector<TestProgram>& TestPrograms() {
  static const auto* const programs = new std::vector<TestProgram>{
      {"Relu", "function (A) -> (O) { O = (A > 0 ? A : 0); }", {F32({7, 13})}},
      {"BroadcastChain",
       "function (A, B, C) -> (O) { O = exp(A * B) + C / 2; }",
       {F32({3, 1, 5}), F32({4, 1}), F32({})}},
      {"TwoOutputs",
       "function (A, B) -> (S, P) { S = A + B; P = S * A; }",
       {F32({6, 11}), F32({6, 11})}},
      {"SumOverAxis", "function (I[M, N]) -> (O) { O[n : N] = +(I[m, n]); }", {F32({17, 5})}},
      {"SumOverLastAxis", "function (I[M, N]) -> (O) { O[m : M] = +(I[m, n]); }", {F32({5, 131})}},
      {"MatMul",
       "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }",
       {F32({13, 7}), F32({7, 37})}},
      {"MatMulWide",
       "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }",
       {F32({33, 65}), F32({65, 64})}},
      {"ProductOfColumns",
       "function (A[T, L, M], B[L, T, N]) -> (C) { C[i, j : M, N] = +(A[t, k, i] * B[k, t, j]); }",
       {F32({5, 6, 47}), F32({6, 5, 19})}},
      {"ProductOfManyTerms",
       "function (A[M, L], B[L, N]) -> (C) { C[i, j : M, N] = +(A[i, k] * B[k, j]); }",
       {F32({5, 601}), F32({601, 17})}},
      {"ConvolutionOfManyChannels",
       "function (D[N, X, Y, CI], K[I, J, CO, CI]) -> (O) { O[n, x, y, co : N, X, Y, CO] = "
       "+(D[n, x+i-1, y+j-1, ci] * K[i, j, co, ci]); }",
       {F32({1, 4, 5, 36}), F32({3, 3, 5, 36})}},
      {"MatMulBiasRelu",
       "function (A[M, L], B[L, N], C) -> (O) { P[i, j : M, N] = +(A[i, k] * B[k, j]); S = P + C; "
       "O = (S > 0 ? S : 0); }",
       {F32({4, 9}), F32({9, 10}), F32({10})}},
      {"ProductAndMin",
       "function (I[M, N]) -> (P, Q) { P[m : M] = *(I[m, n]); Q[m : M] = <(I[m, n]); }",
       {F32({5, 6})}},
      {"MaxPool",
       "function (I[N]) -> (O) { O[i : (N + 1) / 2] = >(I[2 * i + j]), j < 2; }",
       {F32({11})}},
      {"EmptyMaximum",
       "function (I[N]) -> (O) { O[i : N + 3] = >(I[i + j]), j < 2; }",
       {F32({6})},
       -3,
       -1},
      {"EvenElementsOnly",
       "function (I[N, M]) -> (O) { O[2 * i : N] = +(I[2 * i, j]); }",
       {F32({7, 3})}},
      {"CumulativeSum", "function (I[N]) -> (O) { O[i : N] = +(I[k]), i - k < N; }", {F32({23})}},
      {"SameConvolution",
       "function (D[N, X, Y, CI], K[I, J, CO, CI]) -> (R) { O[n, x, y, co : N, X, Y, CO] = "
       "+(D[n, x+i-1, y+j-1, ci] * K[i, j, co, ci]); R = (O > 0 ? O : 0); }",
       {F32({2, 7, 5, 3}), F32({3, 3, 4, 3})}},
      {"ChannelsFirstConvolution",
       "function (D[N, C, Y, X], K[O, C, I, J], B) -> (R) { P[n, o, y, x : N, O, (Y+1)/2, (X+1)/2] "
       "= +(D[n, c, 2*y+i-1, 2*x+j-1] * K[o, c, i, j]); R = P + reshape(B, 4, 1, 1); }",
       {F32({1, 3, 9, 11}), F32({4, 3, 3, 3}), F32({4})}},
      {"WideConvolution",
       "function (D[N, C, Y, X], K[O, C, I, J], B) -> (R) { P[n, o, y, x : N, O, Y, X] = "
       "+(D[n, c, y+i-1, x+j-1] * K[o, c, i, j]); R = tanh(P + reshape(B, 6, 1, 1)); }",
       {F32({2, 5, 6, 37}), F32({6, 5, 3, 3}), F32({6})}},
      {"ReshapeUsedInItsKernelAndOutside",
       "function (A[L, M, N]) -> (O) { S[i : L] = >(A[i, j, k]); R = reshape(S, 2, 1, 1); "
       "E = R == 0; D = A / R; O = E ? 0 : D; }",
       {F32({2, 5, 7})}},
      {"ConvolutionsInARow",
       "function (D[N, C, Y, X], K[O, C, I, J], B, L[M, O, A, E]) -> (R) { P[n, o, y, x : N, O, Y, "
       "X] "
       "= +(D[n, c, y+i-1, x+j-1] * K[o, c, i, j]); S = P + reshape(B, 9, 1, 1); T = S > 0 ? S : "
       "0; "
       "U[n, o, y, x : N, O, Y/2, X/2] = >(T[n, o, 2*y+i, 2*x+j]), i < 2, j < 2; "
       "V[n, m, y, x : N, M, Y/2, X/2] = +(U[n, o, y, x] * L[m, o, 0, 0]); "
       "R = reshape(V, 2, 7*3*3); }",
       {F32({2, 3, 6, 7}), F32({9, 3, 3, 3}), F32({9}), F32({7, 9, 1, 1})}},
      {"ResidualConvolution",
       "function (D[N, Y, X, C], K[I, J, C, C]) -> (R) { P[n, y, x, k : N, Y, X, C] = "
       "+(D[n, y+i-1, x+j-1, c] * K[i, j, c, k]); R = relu(P) + D; }",
       {F32({2, 6, 9, 10}), F32({3, 3, 10, 10})}},
      {"ConvolutionGradient",
       "function (D[N, K, Y, X], W[K, C, I, J]) -> (R) { R[n, c, y + i - 1, x + j - 1 : N, C, Y, X]"
       " = +(D[n, k, y, x] * W[k, c, i, j]); }",
       {F32({1, 9, 5, 11}), F32({9, 8, 3, 3})}},
      {"DepthwiseConvolution",
       "function (D[N, C, Y, X], K[C, I, J]) -> (R) { R[n, c, y, x : N, C, Y, X] = "
       "+(D[n, c, y+i-1, x+j-1] * K[c, i, j]); }",
       {F32({1, 3, 8, 29}), F32({3, 3, 3})}},
      {"StridedDepthwiseConvolution",
       "function (D[N, C, Y, X], K[C, I, J]) -> (R) { R[n, c, y, x : N, C, (Y+1)/2, (X+1)/2] = "
       "+(D[n, c, 2*y+i-1, 2*x+j-1] * K[c, i, j]); }",
       {F32({1, 3, 9, 37}), F32({3, 3, 3})}},
      {"DepthwiseConvolutionOfNarrowImages",
       "function (D[N, C, Y, X], K[C, I, J]) -> (R) { R[n, c, y, x : N, C, Y, X] = "
       "+(D[n, c, y+i-2, x+j-3] * K[c, i, j]); }",
       {F32({2, 5, 6, 5}), F32({5, 5, 7})}},
      {"ChannelsLastDepthwiseConvolution",
       "function (D[N, Y, X, C], K[C, I, J], B) -> (R) { P[n, y, x, c : N, Y, X, C] = "
       "+(D[n, y+i-1, x+j-2, c] * K[c, i, j]); R = relu(P + B); }",
       {F32({1, 9, 15, 19}), F32({19, 3, 5}), F32({19})}},
      {"DepthwiseConvolutionGradient",
       "function (D[N, C, Y, X], K[C, I, J]) -> (R) { R[n, c, y + i - 1, x + j - 1 : N, C, Y, X] = "
       "+(D[n, c, y, x] * K[c, i, j]); }",
       {F32({1, 3, 7, 21}), F32({3, 3, 3})}},
      {"PaddedAveragePool",
       "function (D[N, Y, X, C]) -> (R) { S[n, y, x, c : N, (Y+1)/2, (X+1)/2, C] = "
       "+(D[n, 2*y+i-1, 2*x+j-1, c]), i < 3, j < 3; R = S / 9; }",
       {F32({1, 9, 13, 8})}},
      {"ContiguousDotProducts",
       "function (A[M, K], B[N, K], C) -> (O) { P[m, n : M, N] = +(A[m, k] * B[n, k]); O = P - C; "
       "}",
       {F32({6, 43}), F32({9, 43}), F32({9})}},
      {"SumOfDifferences",
       "function (A[M, N], B[M, N]) -> (O) { D = A - B; S = D * D; O[m : M] = +(S[m, n]); }",
       {F32({5, 50}), F32({5, 50})}},
      {"DilatedConvolution",
       "function (I[N, Lx, Ly, CI], K[LKx, LKy, CI, CO]) -> (O) { O[n, x, y, co : N, Lx - 2 * (LKx "
       "- 1), Ly - 3 * (LKy - 1), CO] = +(I[n, x + 2 * kx, y + 3 * ky, ci] * K[kx, ky, ci, co]); }",
       {F32({1, 9, 10, 2}), F32({3, 2, 2, 3})}},
      {"GroupedConvolution",
       "function (I[N, C, L], K[CO, CIG, W]) -> (R) { O[n, 3 * g + o, x : N, CO, L - W + 1] = "
       "+(I[n, "
       "2 * g + c, x + w] * K[3 * g + o, c, w]), o < 3, c < 2; R = -O; }",
       {F32({2, 4, 8}), F32({6, 2, 3})}},
      {"TransposedConvolution",
       "function (DO[N, OH, OW, CO], K[KH, KW, CI, CO]) -> (DI) { DI[n, 3*y + 2*j, 3*x + 2*i, ci : "
       "N, 3*OH, 3*OW, CI] = +(DO[n, y, x, co] * K[j, i, ci, co]); }",
       {F32({1, 4, 3, 2}), F32({3, 2, 3, 2})}},
      {"OddPoolingGradient",
       "function (I[N, C], P[M, C], Q) -> (O) { O[2*i+p, c : N, C] = +(I[2*i+p, c] == P[i, c] ? "
       "Q[i, "
       "c]), p < 3; }",
       {F32({9, 3}), F32({5, 3}), F32({5, 3})},
       1,
       1},
      {"OverlappingMaxPool",
       "function (D[N, C, Y, X]) -> (O) { O[n, c, y, x : N, C, (Y+1)/2, (X+1)/2] = "
       ">(D[n, c, 2*y+i-1, 2*x+j-1]), i < 3, j < 3; }",
       {F32({2, 3, 9, 71})}},
      {"OverlappingMaxPoolGradient",
       "function (D[N, C, Y, X], P, Q) -> (O) { O[n, c, 2*y+i-1, 2*x+j-1 : N, C, Y, X] = "
       "+(D[n, c, 2*y+i-1, 2*x+j-1] == P[n, c, y, x] ? Q[n, c, y, x]), i < 3, j < 3; }",
       {F32({2, 3, 14, 70}), F32({2, 3, 7, 35}), F32({2, 3, 7, 35})},
       1,
       1},
      {"MinimumOfDoublesInWindows",
       "function (D[N, Y, X]) -> (O) { O[n, y, x : N, Y, X] = <(D[n, y+i-1, x+2*j-2]), i < 3, j < "
       "3;"
       " }",
       {Of(DataType::kFloat64, {2, 5, 21})}},
      {"IntegersInWindows",
       "function (D[N, Y, X]) -> (O) { S[n, y, x : N, Y, X] = +(D[n, y+i-1, x+j-1]), i < 3, j < 3; "
       "O = S * 2; }",
       {Of(DataType::kInt16, {2, 5, 41})},
       -9,
       9},
      {"AveragePoolGradient",
       "function (Q[N, C, Y, X]) -> (O) { O[n, c, 2*y+i, 2*x+j : N, C, 2*Y, 2*X] = "
       "+(Q[n, c, y, x]), i < 2, j < 2; }",
       {F32({1, 3, 4, 35})}},
      {"TransposeThenAdd",
       "function (A[M, N], B) -> (O) { T[j, i : N, M] = =(A[i, j]); O = T + B; }",
       {F32({5, 7}), F32({7, 5})}},
      {"PadWithDefault",
       "function (A[N], F) -> (O) { Z[i : N + 4] = =(F[]); P[i + 1 : N + 4] = =(A[i]) default Z; O "
       "= "
       "P * 2; }",
       {F32({6}), F32({})}},
      {"Concatenation",
       "function (A[M, N], B[M, P]) -> (O) { L[i, j : M, N + P] = =(A[i, j]); O[i, N + j : M, N + "
       "P] "
       "= =(B[i, j]) default L; }",
       {F32({3, 4}), F32({3, 5})}},
      {"SliceOfSum",
       "function (A[M, N], B[M, N]) -> (O) { S = A + B; O[i, j : M, 3] = =(S[i, 2 * j + 1]); }",
       {F32({4, 8}), F32({4, 8})}},
      {"Softmax",
       "function (X[M, N]) -> (O) { H[m, 0 : M, 1] = >(X[m, n]); E = exp(X - H); S[m, 0 : M, 1] = "
       "+(E[m, n]); O = E / S; }",
       {F32({6, 29})}},
      {"LayerNormalization",
       "function (X[M, N], G, B) -> (O) { S[m, 0 : M, 1] = +(X[m, n]); C = X - S / N; Q = C * C; "
       "V[m, "
       "0 : M, 1] = +(Q[m, n]); O = C / sqrt(V / N + 0.00001) * G + B; }",
       {F32({5, 24}), F32({24}), F32({24})}},
      {"ReshapeBetween",
       "function (A, B) -> (O) { S = A * 2; R = reshape(S, 4, 6); O = R + B; }",
       {F32({2, 2, 6}), F32({4, 6})}},
      {"SplitAndTranspose",
       "function (X[B, S]) -> (O) { Y = exp(X); R = reshape(Y, 3, 4, 5); O[j, i, k : 4, 3, 5] = "
       "=(R[i, j, k]); }",
       {F32({3, 20})}},
      {"MatMulReshapeAdd",
       "function (A[M, L], B[L, N], C) -> (O) { P[i, j : M, N] = +(A[i, k] * B[k, j]); R = "
       "reshape(P, "
       "2, 3, 8); O = tanh(R + C); }",
       {F32({6, 5}), F32({5, 8}), F32({2, 1, 8})}},
      {"MatMulFlattenAdd",
       "function (A[M, L], B[L, N], C) -> (O) { P[i, j : M, N] = +(A[i, k] * B[k, j]); R = "
       "reshape(P, "
       "1, 48); O = tanh(R + C); }",
       {F32({6, 5}), F32({5, 8}), F32({48})}},
      {"EveryOtherElement", "function (A[N]) -> (O) { O[i : 19] = =(A[2 * i + 1]); }", {F32({39})}},
      {"WindowsTwoApart",
       "function (A[C, Y, X]) -> (O) { O[c, y, x : C, 5, 18] = >(A[c, 2*y + j - 1, 2*x + i - 1]), "
       "i < "
       "3, j < 3; }",
       {F32({2, 9, 36})}},
      {"SumsOfPairs",
       "function (A[C, X]) -> (O) { O[c, x : C, 17] = +(A[c, 2*x + i]), i < 2; }",
       {F32({3, 34})}},
      {"Logistic",
       "function (A) -> (O, P, Q) { O = 1 / (1 + exp(-A)); P = A / (exp(-A) + 1); Q = A / (2 + "
       "exp(-A)); }",
       {F32({41})},
       -120,
       120},
      {"TransposedMatrix",
       "function (A[M, N]) -> (O) { O[n, m : N, M] = =(A[m, n]); }",
       {F32({37, 43})}},
      {"TransposedSum",
       "function (A[M, N], B[N, M], C[M]) -> (O) { T[n, m : N, M] = =(A[m, n]); O = T * B + C; }",
       {F32({33, 16}), F32({16, 33}), F32({33})}},
      {"TransposedPlanes",
       "function (A[K, M, N]) -> (O) { O[k, n, m : K, N, M] = =(A[k, m, n]); }",
       {F32({3, 9, 17})}},
      {"ReversedDimensions",
       "function (A[K, M, N]) -> (O) { O[n, m, k : N, M, K] = =(A[k, m, n]); }",
       {F32({8, 5, 11})}},
      {"TransposedBytes",
       "function (A[M, N]) -> (O) { O[n, m : N, M] = =(A[m, n]); }",
       {Of(DataType::kUInt8, {21, 40})},
       0,
       255},
      {"TransposedHalves",
       "function (A[M, N]) -> (O) { O[n, m : N, M] = =(A[m, n]); }",
       {Of(DataType::kFloat16, {18, 24})}},
      {"TransposedDoubles",
       "function (A[M, N]) -> (O) { O[n, m : N, M] = =(A[m, n]); }",
       {Of(DataType::kFloat64, {10, 7})}},
      {"TransposedConditions",
       "function (A[M, N]) -> (O) { T[n, m : N, M] = =(A[m, n]); O = T > 0; }",
       {F32({12, 19})}},
      {"TransposedSlice",
       "function (A[M, N]) -> (O) { O[n, m : 20, 15] = =(A[m + 2, n + 3]); }",
       {F32({19, 31})}},
      {"TransposedAndPadded",
       "function (A[M, N]) -> (O) { T[n, m : N + 2, M] = +(A[m, n - 1]); O = T + 1; }",
       {F32({17, 12})}},
      {"GatherRows",
       "function (D, I) -> (O) { O = gather(D, I) * 2; }",
       {F32({9, 4}), Of(DataType::kInt64, {2, 3})},
       -9,
       8},
      {"GatherColumns",
       "function (D, I) -> (O) { O = gather(D, I, 1); }",
       {F32({3, 7, 2}), Of(DataType::kInt32, {4})},
       -7,
       6},
      {"GatherElements",
       "function (D, I) -> (O) { O = gather_elements(D, I, 1); }",
       {F32({3, 5}), Of(DataType::kInt64, {3, 2})},
       -5,
       4},
      {"GatherNd",
       "function (D, I) -> (O) { O = gather_nd(D, I, 0); }",
       {F32({4, 4, 3}), Of(DataType::kInt64, {5, 2})},
       -4,
       3},
      {"ScatterElements",
       "function (D, I, U) -> (O) { O = scatter_elements(D, I, U, 1, 1); }",
       {F32({3, 5}), Of(DataType::kInt64, {3, 4}), F32({3, 4})},
       -5,
       4},
      {"ScatterNd",
       "function (D, I, U) -> (O) { O = scatter_nd(D, I, U, 1); }",
       {F32({4, 3}), Of(DataType::kInt64, {6, 1}), F32({6, 3})},
       -4,
       3},
      {"ScatterOutOfRange",
       "function (D, I, U, J, V) -> (O, P) { O = scatter_elements(D, I, U, 0, 0); P = "
       "scatter_nd(D, J, "
       "V, 3); }",
       {F32({4, 3}), Of(DataType::kInt32, {2, 3}), F32({2, 3}), Of(DataType::kInt64, {5, 2}),
        F32({5})},
       -9,
       9},
      {"ScatterManyRows",
       "function (E, I, V) -> (O) { O = scatter(E, I, V); }",
       {F32({70, 5}), Of(DataType::kInt64, {70}), F32({30})},
       -40,
       40},
      {"ScatterWideRows",
       "function (E, I, V) -> (O) { O = scatter(E, I, V); }",
       {F32({9, 141}), Of(DataType::kInt32, {9}), F32({4})},
       -5,
       4},
      {"ScatterNdWithoutCoordinates",
       "function (D, I, U) -> (O) { O = scatter_nd(D, I, U, 1); }",
       {F32({4, 3}), Of(DataType::kInt64, {3, 0}), F32({3, 4, 3})}},
      {"ScatterNdManyAssignments",
       "function (D, I, U) -> (O) { O = scatter_nd(D, I, U, 0); }",
       {F32({4, 5, 3}), Of(DataType::kInt32, {80, 2}), F32({80, 3})},
       -6,
       5},
      {"ScatterNdManyProducts",
       "function (D, I, U) -> (O) { O = scatter_nd(D, I, U, 2); }",
       {F32({7, 3}), Of(DataType::kInt64, {19, 1}), F32({19, 3})},
       -7,
       6},
      {"ScatterElementsOfOneLine",
       "function (D, I, U) -> (A, S, P, L, G) { A = scatter_elements(D, I, U, 0, 0); S = "
       "scatter_elements(D, I, U, 0, 1); P = scatter_elements(D, I, U, 0, 2); L = "
       "scatter_elements(D, I, U, 0, 3); G = scatter_elements(D, I, U, 0, 4); }",
       {F32({50}), Of(DataType::kInt64, {103}), F32({103})},
       -51,
       51},
      {"ScatterElementsOfSquares",
       "function (D, I, U) -> (O) { O = scatter_elements(D, I, U, 0, 1); }",
       {F32({6, 25, 2}), Of(DataType::kInt32, {40, 23, 2}), F32({40, 23, 2})},
       -7,
       6},
      {"ScatterConditions",
       "function (D, I, U) -> (O) { O = scatter_nd(D > 0, I, U > 0, 0); }",
       {F32({9, 20}), Of(DataType::kInt32, {30, 1}), F32({30, 20})},
       -9,
       8},
      {"RandomNumbers",
       "function (S) -> (O, P) { O = prng(S, 5, 7); P = prng(S, 2, 4) * 2; }",
       {Of(DataType::kUInt32, {2})},
       0,
       4e9},
      {"RandomNumbersOfAScalar",
       "function (S) -> (O) { O = prng(S, 101); }",
       {Of(DataType::kInt64, {})},
       0,
       9e18},
      {"Sort",
       "function (X) -> (V, P) { V = sort(X, 1, 1); P = argsort(X, 1, 1); }",
       {Of(DataType::kInt32, {3, 19})}},
      // Multiples of 0.5 and roots of negative values: many equal keys, and NaN.
      {"SortOfManyRuns",
       "function (X) -> (V, W, P, Q) { Y = sqrt(round(X * 4)); V = sort(Y, 1, 0); W = sort(Y, 1, "
       "1); "
       "P = argsort(Y, 1, 0); Q = argsort(Y, 1, 1); }",
       {F32({2, 301})}},
      {"SortAlongTheFirstAxis",
       "function (X) -> (V, P) { Y = sqrt(round(X * 4)); V = sort(Y, 0, 1); P = argsort(Y, 0, 0); "
       "}",
       {F32({131, 3})}},
      {"SortOfBytes",
       "function (X) -> (V, P) { V = sort(X, 0, 0); P = argsort(X, 0, 1); }",
       {Of(DataType::kUInt8, {97})},
       0,
       9},
      {"SortOfConditions", "function (X) -> (V) { V = sort(X > 0.5, 1, 1); }", {F32({2, 70})}},
      {"SortOfAPowerOfTwo", "function (X) -> (V) { V = sort(X, 0, 0); }", {F32({128})}},
      {"CumsumReverseExclusive",
       "function (X) -> (O) { O = cumsum(X, 1, 1, 1); }",
       {F32({3, 8, 2})}},
      {"CumsumOfLongLines",
       "function (X) -> (A, B, C) { A = cumsum(X, 1, 0, 0); B = cumprod(X, 1, 1, 1); C = cumsum(X, "
       "1, 1, 0); }",
       {Of(DataType::kInt32, {2, 701, 3})},
       -5,
       5},
      {"CumsumOfFractions", "function (X) -> (O) { O = cumsum(X, 0, 0, 1); }", {F32({600})}},
      {"IndexCoordinate",
       "function (X) -> (O) { O = index(X, 1) + as_int(X, 32); }",
       {F32({3, 300})}},
      {"IntegerDivision",
       "function (A, B) -> (Q, M, S) { Q = A / B; M = A % B; S = A << 3; }",
       {Of(DataType::kInt32, {64}), Of(DataType::kInt32, {64})},
       -3,
       3},
      {"Int64Arithmetic",
       "function (A, B) -> (O) { O = A * B + 4000000000; }",
       {Of(DataType::kInt64, {31}), Of(DataType::kInt64, {31})},
       -3e9,
       3e9},
      {"UnsignedBytesWrap",
       "function (A, B) -> (O) { O = A + B * 3; }",
       {Of(DataType::kUInt8, {40}), Of(DataType::kUInt8, {40})},
       0,
       255},
      {"Comparisons",
       "function (A, B) -> (L, E, N) { L = A < B; E = A == B; N = !(A < B) && B != 0; }",
       {Of(DataType::kInt8, {50}), Of(DataType::kInt8, {50})}},
      {"Halves",
       "function (A, B) -> (O) { O = A * B + 0.5; }",
       {Of(DataType::kFloat16, {33}), Of(DataType::kFloat16, {33})}},
      {"BFloats", "function (A) -> (O) { O = sqrt(abs(A)); }", {Of(DataType::kBFloat16, {9})}},
      {"RoundThroughHalf",
       "function (A) -> (O) { H = as_float(A, 16); O = as_float(H, 32) * 3; }",
       {F32({20})}},
      {"Doubles",
       "function (A[M, N]) -> (O) { O[m : M] = +(A[m, n] * A[m, n]); }",
       {Of(DataType::kFloat64, {3, 50})}},
      {"BooleanAny",
       "function (A[M, N]) -> (O) { P = A > 1; O[m : M] = >(P[m, n]); }",
       {F32({6, 5})}},
      {"EmptyInput", "function (A[M, N]) -> (O) { O[n : N] = +(A[m, n]); }", {F32({0, 3})}},
      {"EmptyOutput", "function (A) -> (O) { O = A + 1; }", {F32({4, 0})}},
      {"PassThrough", "function (A) -> (O, P) { O = A; P = A * 2; }", {F32({5})}},
      {"Diagonal", "function (A[N]) -> (O) { O[i, i : N, N] = =(A[i]); }", {F32({5})}},
      {"ConditionalContraction",
       "function (X[N], I[M], V[M]) -> (O) { O[n : N] = +(X[n] == I[m] ? V[m]); }",
       {Of(DataType::kInt32, {6}), Of(DataType::kInt32, {9}), F32({9})}},
      {"ResidualBlock",
       "function (A[M, L], B[L, N], C[N, L]) -> (O) { P[i, j : M, N] = +(A[i, k] * B[k, j]); Q = "
       "(P > "
       "0 ? P : 0); R[i, j : M, L] = +(Q[i, k] * C[k, j]); O = R + A; }",
       {F32({6, 8}), F32({8, 5}), F32({5, 8})}},
      {"SharedBetweenKernels",
       "function (A[M, N]) -> (O) { E = exp(A) + log(abs(A) + 1); S[m, 0 : M, 1] = +(E[m, n]); "
       "T[0, n "
       ": 1, N] = +(E[m, n]); O = E / (S + T); }",
       {F32({6, 7})}},
      {"NarrowProduct",
       "function (A[M, L], Z, B[L, N]) -> (C) { X = as_int(A, 32) - as_int(Z, 32); Y = as_int(B, "
       "32); C[i, j : M, N] = +(X[i, k] * Y[k, j]); }",
       {Of(DataType::kUInt8, {33, 37}), Of(DataType::kUInt8, {}), Of(DataType::kInt8, {37, 65})},
       -128,
       255},
      {"NarrowProductsWithZeroPointsOfRowsAndColumns",
       "function (A[P, M, L], ZA, B[L, N], ZB) -> (O) { X = as_int(A, 32) - as_int(ZA, 32); Y = "
       "as_int(B, 32) - as_int(ZB, 32); C[p, i, j : P, M, N] = +(X[p, i, k] * Y[k, j]); "
       "O = as_float(C, 32) * 0.5 + as_float(ZB, 32); }",
       {Of(DataType::kInt8, {3, 21, 40}), Of(DataType::kInt8, {21, 1}),
        Of(DataType::kUInt8, {40, 66}), Of(DataType::kUInt8, {66})},
       -128,
       255},
      {"ProductOfInt16",
       "function (A[M, L], B[N, L]) -> (C) { X = as_int(A, 32); Y = as_int(B, 32); C[i, j : M, N] "
       "= "
       "+(X[i, k] * Y[j, k]); }",
       {Of(DataType::kInt16, {40, 41}), Of(DataType::kInt16, {64, 41})},
       -32768,
       32767},
      {"NarrowConvolution",
       "function (D[N, C, Y, X], Z, W[K, C, I, J]) -> (O) { E = as_int(D, 32) - as_int(Z, 32); V = "
       "as_int(W, 32); O[n, k, y, x : N, K, Y, X] = +(E[n, c, y + i - 1, x + j - 1] * V[k, c, i, "
       "j]); }",
       {Of(DataType::kUInt8, {2, 7, 9, 11}), Of(DataType::kUInt8, {}),
        Of(DataType::kInt8, {24, 7, 3, 3})},
       -128,
       255},
      {"NarrowConvolutionInGroupsWithStridesAndDilation",
       "function (D[N, G, C, Y, X], W[G, K, C, I, J], ZW) -> (O) { E = as_int(D, 32); V = "
       "as_int(W, "
       "32) - as_int(ZW, 32); O[n, g, k, y, x : N, G, K, (Y + 1) / 2, X - 2] = "
       "+(E[n, g, c, 2 * y + 2 * i - 2, x + j] * V[g, k, c, i, j]); }",
       {Of(DataType::kInt8, {1, 2, 6, 15, 13}), Of(DataType::kInt8, {2, 20, 6, 3, 3}),
        Of(DataType::kInt8, {2, 20, 1, 1, 1})},
       -128,
       127},
      {"NotANumberMaximum",
       "function (A[M, N]) -> (O) { B = A / (A - A); O[m : M] = >(B[m, n]); }",
       {F32({2, 3})}},
  };
  return *programs;
}

ir::Program BindTestProgram(const TestProgram& program) {
  const auto function = lang::Parse(program.code, program.name);
  if (!function.ok()) throw std::runtime_error(std::string(function.status().message()));
  auto bound = lang::Bind(*function, program.inputs, {program.name, program.code, {}});
  if (!bound.ok()) throw std::runtime_error(std::string(bound.status().message()));
  return *std::move(bound);
}

std::vector<HostTensor> RandomInputs(const TestProgram& program, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> real(program.low, program.high);
  std::vector<HostTensor> inputs;
  for (const TensorShape& shape : program.inputs) {
    std::vector<uint8_t> bytes(shape.byte_size());
    for (int64_t i = 0; i < shape.element_count(); ++i) {
      const double value = real(random);
      if (IsFloat(shape.type)) {
        StoreElement(shape.type, value, i, bytes.data());
      } else {
        StoreElement(shape.type, static_cast<int64_t>(std::lround(value)), i, bytes.data());
      }
    }
    inputs.emplace_back(shape, bytes);
  }
  return inputs;
}

}  // namespace tartan
