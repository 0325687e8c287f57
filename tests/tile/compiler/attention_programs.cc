// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/compiler/attention_programs.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/tile/testing.h"

namespace tartan {
namespace {

// Computes the weights W as the softmax of the scores L[h, t, u].
constexpr char kSoftmax[] =
    "M[h, t, 0 : H, T, 1] = >(L[h, t, u]); E = exp(L - M); S[h, t, 0 : H, T, 1] = +(E[h, t, u]); "
    "W = E / S; ";
constexpr char kScores[] = "P[h, t, u : H, T, U] = +(Q[h, t, d] * K[h, u, d]); ";
constexpr char kValues[] = "O[h, t, d : H, T, D] = +(W[h, t, u] * V[h, u, d]); ";

// Attention whose softmax reads `logits`, an expression of the scores P.
std::string Attention(const std::string& logits, const std::string& more = "",
                      const std::string& inputs = "", const std::string& outputs = "O") {
  return absl::StrCat("function (Q[H, T, D], K[H, U, D], V[H, U, D]", inputs, ") -> (", outputs,
                      ") { ", kScores, logits, kSoftmax, kValues, more, "}");
}

// A decoding step: concatenates the cached keys and values with one new row each.
std::string Decode() {
  return absl::StrCat(
      "function (Q[H, T, D], Old[H, C, D], OldV[H, C, D], New[H, 1, D], NewV[H, 1, D], Mask[U]) -> "
      "(O) { A[h, u, d : H, U, D] = =(Old[h, u, d]); "
      "K[h, u + C, d : H, U, D] = =(New[h, u, d]) default A; "
      "B[h, u, d : H, U, D] = =(OldV[h, u, d]); "
      "V[h, u + C, d : H, U, D] = =(NewV[h, u, d]) default B; ",
      kScores, "L = Mask > 0 ? P * 0.125 : -1000000000.0; ", kSoftmax, kValues, "}");
}

std::string HeadsLast() {
  return absl::StrCat(
      "function (X[T, C], Y[U, C], Z[U, C]) -> (R) { Q = reshape(X, T, 3, C / 3); "
      "K = reshape(Y, U, 3, C / 3); V = reshape(Z, U, 3, C / 3); "
      "P[h, t, u : 3, T, U] = +(Q[t, h, d] * K[u, h, d]); L = P * 0.25; "
      "M[h, t, 0 : 3, T, 1] = >(L[h, t, u]); E = exp(L - M); "
      "S[h, t, 0 : 3, T, 1] = +(E[h, t, u]); W = E / S; "
      "O[h, t, d : 3, T, C / 3] = +(W[h, t, u] * V[u, h, d]); "
      "R[t, h, d : T, 3, C / 3] = =(O[h, t, d]); }");
}

std::string SharedKeys() {
  return "function (Q[G, R, T, D], K[G, U, D], V[G, U, D]) -> (O) { "
         "P[g, r, t, u : G, R, T, U] = +(Q[g, r, t, d] * K[g, u, d]); "
         "M[g, r, t, 0 : G, R, T, 1] = >(P[g, r, t, u]); E = exp(P - M); "
         "S[g, r, t, 0 : G, R, T, 1] = +(E[g, r, t, u]); W = E / S; "
         "O[g, r, t, d : G, R, T, D] = +(W[g, r, t, u] * V[g, u, d]); }";
}

// Grouped-query attention: `turns` adds a rotary-like term to the queries, and reshapes split and
// merge the heads before and after the softmax.
std::string GroupedHeads(bool turns) {
  return absl::StrCat(
      "function (X[T, C], K[G, U, D], V[G, U, D], A[T, D], B[T, D]) -> (Y) { "
      "Z = reshape(X, T, 2 * G, D); N[h, t, d : 2 * G, T, D] = =(Z[t, h, d]); ",
      turns ? "Q = N * A + N * N * B; " : "Q = N * A; ",
      "R = reshape(Q, G, 2, T, D); "
      "P[g, r, t, u : G, 2, T, U] = +(R[g, r, t, d] * K[g, u, d]); "
      "L = reshape(P, 2 * G, T, U) * 0.25; "
      "M[h, t, 0 : 2 * G, T, 1] = >(L[h, t, u]); E = exp(L - M); "
      "S[h, t, 0 : 2 * G, T, 1] = +(E[h, t, u]); W = E / S; H = reshape(W, G, 2, T, U); "
      "O[g, r, t, d : G, 2, T, D] = +(H[g, r, t, u] * V[g, u, d]); "
      "F = reshape(O, 2 * G, T, D); I[t, h, d : T, 2 * G, D] = =(F[h, t, d]); "
      "Y = reshape(I, T, C); }");
}

// Two matmuls of the same rows, one of which gates the other.
std::string Gated(const std::string& result) {
  return absl::StrCat(
      "function (X[T, C], F[C, N], H[C, N]) -> (Y) { A[t, n : T, N] = +(X[t, c] * F[c, n]); "
      "B[t, n : T, N] = +(X[t, c] * H[c, n]); Y = ",
      result, "; }");
}

std::vector<TensorShape> Shapes(int64_t heads, int64_t queries, int64_t keys, int64_t depth) {
  return {F32({heads, queries, depth}), F32({heads, keys, depth}), F32({heads, keys, depth})};
}

std::vector<TensorShape> With(std::vector<TensorShape> shapes, TensorShape another) {
  shapes.push_back(std::move(another));
  return shapes;
}

}  // namespace

HardwareSettings AttentionSettings() {
  HardwareSettings settings = SmallGpu();
  settings.launch_us = 50;
  return settings;
}

const std::vector<AttentionProgram>& AttentionPrograms() {
  static const auto* const programs = [] {
    auto* list = new std::vector<AttentionProgram>;
    const auto add = [&](std::string name, std::string code, std::vector<TensorShape> inputs,
                         int launches = 1) {
      list->push_back({{std::move(name), std::move(code), std::move(inputs)}, launches});
    };
    const std::string scaled = "L = P * 0.25; ";
    add("Whole", Attention(scaled), Shapes(2, 16, 32, 8));
    add("Odd", Attention(scaled), Shapes(3, 19, 37, 12));
    add("OddDepth", Attention(scaled), Shapes(2, 6, 10, 7));
    add("OneQuery", Attention(scaled), Shapes(3, 1, 129, 16));
    add("OneKey", Attention(scaled), Shapes(3, 5, 1, 8));
    add("LongRows", Attention(scaled), Shapes(2, 3, 517, 8));
    add("Masked", Attention("L = P * 0.25 + Mask; ", "", ", Mask[T, U]"),
        With(Shapes(2, 9, 21, 8), F32({9, 21})));
    add("Causal",
        Attention("L = index(Ones, 1) > index(Ones, 0) ? -inf() : P * 0.25; ", "", ", Ones[T, U]"),
        With(Shapes(2, 18, 18, 8), F32({18, 18})));
    // The first queries have no unmasked key.
    add("EmptyRows",
        Attention("L = index(Ones, 1) + 3 > index(Ones, 0) ? -inf() : P * 0.25; ", "",
                  ", Ones[T, U]"),
        With(Shapes(2, 11, 11, 8), F32({11, 11})));
    // The program uses the coordinates of the scores, so the scores are stored, too.
    add("ScoresAreKept", Attention("L = index(P, 2) > index(P, 1) ? -inf() : P * 0.25; "),
        Shapes(2, 18, 18, 8));
    add("Capped", Attention("L = 5 * tanh(P * 0.2); "), Shapes(2, 9, 12, 8));
    add("WeightsAreAnOutput", Attention(scaled, "", "", "O, W"), Shapes(2, 9, 13, 8));
    add("ScaledValues", Attention(scaled, "R = O * 2 + Q; ", "", "R"), Shapes(2, 9, 16, 8));
    add("Decode", Decode(),
        {F32({3, 1, 16}), F32({3, 32, 16}), F32({3, 32, 16}), F32({3, 1, 16}), F32({3, 1, 16}),
         F32({33})});
    add("HeadsLast", HeadsLast(), {F32({10, 36}), F32({21, 36}), F32({21, 36})});
    add("SharedKeys", SharedKeys(), {F32({2, 3, 7, 8}), F32({2, 11, 8}), F32({2, 11, 8})});
    const auto grouped = [](int64_t groups, int64_t queries, int64_t keys, int64_t depth) {
      return std::vector<TensorShape>{F32({queries, 2 * groups * depth}),
                                      F32({groups, keys, depth}), F32({groups, keys, depth}),
                                      F32({queries, depth}), F32({queries, depth})};
    };
    add("GroupedHeads", GroupedHeads(false), grouped(3, 7, 11, 8));
    add("GroupedHeadsOddDepth", GroupedHeads(true), grouped(2, 6, 9, 5));
    add("GroupedHeadsOneQuery", GroupedHeads(true), grouped(3, 1, 33, 8));
    const auto gated = [](DataType type, int64_t rows, int64_t depth, int64_t columns) {
      return std::vector<TensorShape>{
          {type, {rows, depth}}, {type, {depth, columns}}, {type, {depth, columns}}};
    };
    const std::string silu = "A / (1 + exp(0 - A)) * B";
    add("Gated", Gated(silu), gated(DataType::kFloat32, 9, 20, 48));
    add("GatedOneRow", Gated(silu), gated(DataType::kFloat32, 1, 33, 24));
    add("GatedByZero", Gated("(A > 0 ? A : 0.0) * B"), gated(DataType::kFloat32, 7, 5, 16));
    add("GatedHalves", Gated(silu), gated(DataType::kFloat16, 5, 12, 32));
    // The number of columns is prime.
    add("GatedOddColumns", Gated(silu), gated(DataType::kFloat32, 4, 6, 19), 2);
    add("Halves", Attention(scaled),
        {{DataType::kFloat16, {2, 7, 8}},
         {DataType::kFloat16, {2, 9, 8}},
         {DataType::kFloat16, {2, 9, 8}}});
    return list;
  }();
  return *programs;
}

HardwareSettings LargeGpuSettings() {
  HardwareSettings settings = AttentionSettings();
  settings.threads = 256;
  settings.local_memory_bytes = 48 << 10;
  settings.max_work_group_size = 1024;
  settings.l1_bytes = 16 << 10;
  settings.l2_bytes = 132 * (32 << 10);
  settings.cache_line_bytes = 128;
  settings.compute_units = 132;
  settings.clock_mhz = 1980;
  settings.gflops = 60000;
  settings.gbps = 4000;
  settings.launch_us = 3;
  return settings;
}

HardwareSettings LongAttentionSettings() {
  HardwareSettings settings = AttentionSettings();
  settings.local_memory_bytes = 5 << 10;
  return settings;
}

const std::vector<AttentionProgram>& LongAttentionPrograms() {
  static const auto* const programs = [] {
    auto* list = new std::vector<AttentionProgram>;
    const auto add = [&](std::string name, std::string code, std::vector<TensorShape> inputs) {
      list->push_back({{"Long" + std::move(name), std::move(code), std::move(inputs)}, 1});
    };
    const std::string scaled = "L = P * 0.25; ";
    const auto chosen = [](const std::string& condition) {
      return Attention(absl::StrCat("L = ", condition, " ? -inf() : P * 0.25; "), "",
                       ", Ones[T, U]");
    };
    const auto shapes = [](int64_t queries, int64_t keys) {
      return With(Shapes(2, queries, keys, 8), F32({queries, keys}));
    };
    add("Whole", Attention(scaled), Shapes(2, 8, 1536, 8));
    add("Odd", Attention(scaled), Shapes(3, 5, 1601, 12));
    add("OddDepth", Attention(scaled), Shapes(2, 3, 1999, 7));
    add("OneQuery", Attention(scaled), Shapes(3, 1, 2051, 16));
    add("Masked", Attention("L = P * 0.25 + Mask; ", "", ", Mask[T, U]"), shapes(4, 1543));
    // The queries are the last positions of the sequence.
    add("Causal", chosen("index(Ones, 1) > index(Ones, 0) + 1530"), shapes(6, 1536));
    // In "EmptyRows" some queries have no unmasked key, and others have none in whole blocks.
    add("EmptyRows", chosen("index(Ones, 1) + 200 > index(Ones, 0) * 100"), shapes(7, 1500));
    add("LateKeys", chosen("index(Ones, 1) < 1300 + index(Ones, 0) * 50"), shapes(5, 1510));
    add("Capped", Attention("L = 5 * tanh(P * 0.2); "), Shapes(2, 4, 1600, 8));
    add("ScaledWeights",
        Attention(scaled, "R[h, t, d : H, T, D] = +(Z[h, t, u] * V[h, u, d]); ", "", "R"),
        Shapes(2, 4, 1600, 8));
    std::string& code = list->back().program.code;
    code.replace(code.find(kValues), sizeof(kValues) - 1, "Z = 2 * W * (index(W, 2) % 3); ");
    add("ScaledValues", Attention(scaled, "R = O * 2 + Q; ", "", "R"), Shapes(2, 5, 1540, 16));
    add("Decode", Decode(),
        {F32({3, 1, 16}), F32({3, 1700, 16}), F32({3, 1700, 16}), F32({3, 1, 16}), F32({3, 1, 16}),
         F32({1701})});
    add("HeadsLast", HeadsLast(), {F32({4, 36}), F32({1603, 36}), F32({1603, 36})});
    add("SharedKeys", SharedKeys(), {F32({2, 4, 3, 8}), F32({2, 1539, 8}), F32({2, 1539, 8})});
    add("GroupedHeads", GroupedHeads(true),
        {F32({3, 32}), F32({2, 1550, 8}), F32({2, 1550, 8}), F32({3, 8}), F32({3, 8})});
    add("Halves", Attention(scaled),
        {{DataType::kFloat16, {2, 3, 8}},
         {DataType::kFloat16, {2, 1541, 8}},
         {DataType::kFloat16, {2, 1541, 8}}});
    return list;
  }();
  return *programs;
}

std::ostream& operator<<(std::ostream& out, const AttentionCase& c) { return out << c.name; }

TestProgram ProgramOf(const AttentionCase& c) {
  const auto shape = [&](std::vector<int64_t> dims) {
    return TensorShape{c.type, std::move(dims)};
  };
  return {c.name,
          "function (Q[G, R, T, D], K[G, U, D], V[G, U, D], B[T, U]) -> (O) { "
          "P[g, r, t, u : G, R, T, U] = +(Q[g, r, t, d] * K[g, u, d]); L = " +
              c.logits +
              "; M[g, r, t, 0 : G, R, T, 1] = >(L[g, r, t, u]); E = exp(L - M); "
              "S[g, r, t, 0 : G, R, T, 1] = +(E[g, r, t, u]); W = E / S; "
              "O[g, r, t, d : G, R, T, D] = +(W[g, r, t, u] * V[g, u, d]); }",
          {shape({c.groups, c.heads, c.queries, c.depth}), shape({c.groups, c.keys, c.depth}),
           shape({c.groups, c.keys, c.depth}), TensorShape{c.mask, {c.queries, c.keys}}}};
}

}  // namespace tartan
