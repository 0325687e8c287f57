// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/compiler/launches/cell_programs.h"

#include "absl/strings/str_cat.h"

namespace tartan {
namespace {

TensorShape Floats(std::vector<int64_t> dims) { return {DataType::kFloat32, std::move(dims)}; }

// Selects a gate's columns; adjacent gates of a state are `states` columns apart.
std::string Gate(const char* name, int64_t number, int64_t states) {
  return absl::StrCat(name, "[b, h : B, H] = =(Z[b, h + ", number * states, "]);\n");
}

}  // namespace

TestProgram LstmCell(int64_t rows, int64_t states) {
  return {absl::StrCat("LstmCell", rows, "x", states),
          absl::StrCat("function (X[B, G], S[B, H], C[B, H], W[G, H], P[H]) -> (Y, N) {\n"
                       "Q[b, g : B, G] = +(S[b, k] * W[g, k]); Z = X + Q;\n",
                       Gate("I", 0, states), Gate("O", 1, states), Gate("F", 2, states),
                       Gate("U", 3, states),
                       "N = sigmoid(F + P * C) * C + sigmoid(I) * tanh(U);\n"
                       "Y = sigmoid(O) * tanh(N);\n}"),
          {Floats({rows, 4 * states}), Floats({rows, states}), Floats({rows, states}),
           Floats({4 * states, states}), Floats({states})}};
}

TestProgram GruCell(int64_t rows, int64_t states) {
  return {absl::StrCat("GruCell", rows, "x", states),
          absl::StrCat("function (X[B, G], S[B, H], W[H, G], V[G]) -> (Y) {\n"
                       "Q[b, g : B, G] = +(S[b, k] * W[k, g]); Z = Q + V;\n",
                       Gate("U", 0, states), Gate("R", 1, states), Gate("N", 2, states),
                       "XU[b, h : B, H] = =(X[b, h]);\n"
                       "XR[b, h : B, H] = =(X[b, h + ",
                       states,
                       "]);\n"
                       "XN[b, h : B, H] = =(X[b, h + ",
                       2 * states,
                       "]);\n"
                       "A = sigmoid(XU + U); M = tanh(XN + sigmoid(XR + R) * N);\n"
                       "Y = (1 - A) * M + A * S;\n}"),
          {Floats({rows, 3 * states}), Floats({rows, states}), Floats({states, 3 * states}),
           Floats({3 * states})}};
}

}  // namespace tartan
