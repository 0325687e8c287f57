// SPDX-License-Identifier: Apache-2.0
// Tests ready (dynamic-shape) kernels, whose sizes are arguments: which programs share them, and
// that their results are right.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/compiler/known_kernels.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/loop/rename.h"

namespace tartan::compiler::ready_kernels_test {
namespace {

CompileOptions Ready(int64_t vector_width = 8) {
  CompileOptions options;
  options.tier = Tier::kReady;
  options.settings.vector_width = vector_width;
  options.settings.compute_units = 2;
  return options;
}

TensorShape Float(std::vector<int64_t> dims) { return {DataType::kFloat32, std::move(dims)}; }

// Checks the program's results. Returns the names and comments of its kernels: texts that differ in
// these alone would be compiled again.
std::set<std::string> KernelsOf(const TestProgram& test, int64_t vector_width = 8) {
  ir::Program program = BindTestProgram(test);
  if (test.name == "Convolution") {  // the weights are known at load
    std::get<ir::Input>(program.values[program.inputs[1]].op).is_constant = true;
  }
  if (test.name == "Words") {
    for (const int i : {1, 2, 3}) {
      std::get<ir::Input>(program.values[program.inputs[i]].op).is_constant = true;
    }
  }
  const auto list = Compile(program, Ready(vector_width));
  EXPECT_TRUE(list.ok()) << list.status();
  EXPECT_TRUE(test.name != "Words" || list->setup.empty()) << "weights have copies";
  const std::vector<HostTensor> inputs = RandomInputs(test, 5);
  const auto expected = ir::EvaluateNaively(program, inputs);
  const auto actual = InterpretList(*list, inputs);
  EXPECT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
  for (size_t o = 0; expected.ok() && actual.ok() && o < expected->size(); ++o) {
    EXPECT_EQ(FirstDifference((*actual)[o], (*expected)[o], 1e-5), "") << test.inputs[0].ToString();
  }
  std::set<std::string> names;
  for (const loop::Kernel& kernel : list->kernels) {
    names.insert(absl::StrCat(kernel.name, absl::StrJoin(kernel.comments, " ")));
  }
  return names;
}

void ExpectOneKernelForAll(const std::vector<TestProgram>& programs) {
  const std::set<std::string> first = KernelsOf(programs.front());
  for (const TestProgram& program : programs) {
    EXPECT_EQ(KernelsOf(program), first) << program.inputs[0].ToString();
  }
}

TestProgram Product(int64_t m, int64_t k, int64_t n) {
  return {"Product",
          "function (A[M, K], B[K, N], D[N]) -> (O) {"
          " C[m, n : M, N] = +(A[m, k] * B[k, n]); O = relu(C + D); }",
          {Float({m, k}), Float({k, n}), Float({n})}};
}

TEST(ReadyKernels, ServeProductsOfAnySize) {
  ExpectOneKernelForAll({Product(9, 40, 24), Product(4, 32, 16), Product(31, 129, 65),
                         Product(16, 64, 16), Product(5, 50, 33), Product(9, 5, 24),
                         Product(4, 31, 16), Product(2, 40, 24), Product(3, 2, 16)});
}

TestProgram Convolution(int64_t size, int64_t in, int64_t out, int64_t stride) {
  const std::string step = stride == 1 ? "" : absl::StrCat(stride, " * ");
  return {"Convolution",
          absl::StrCat("function (X[C, H, W], F[D, C, P, Q]) -> (O) { O[d, x, y : D, ",
                       (size + stride - 1) / stride, ", ", (size + stride - 1) / stride,
                       "] = +(X[c, ", step, "x + p - 1, ", step, "y + q - 1] * F[d, c, p, q]); }"),
          {Float({in, size, size}), Float({out, in, 3, 3})}};
}

TEST(ReadyKernels, ServeConvolutionsOfAnySize) {
  ExpectOneKernelForAll({Convolution(9, 5, 16, 1), Convolution(14, 4, 32, 1),
                         Convolution(10, 8, 48, 1), Convolution(12, 6, 64, 1)});
}

// Weights with eight 4-bit values per 32-bit word, and a scale for each block of two words.
TestProgram Words(int64_t rows, int64_t blocks, int64_t columns) {
  const TensorShape words = {DataType::kInt32, {blocks, 2, columns}};
  return {"Words",
          "function (A[M, K], Q[B, L, N], S[B, N], P[PARTS]) -> (C) {"
          " I = ((reshape(Q, B, L, 1, N) >> (reshape(index(P, 0), PARTS, 1) * 4)) << 28) >> 28;"
          " W = as_float(I, 32) * reshape(S, B, 1, 1, N);"
          " C[i, n : M, N] = +(A[i, 16 * b + 8 * l + p] * W[b, l, p, n]); }",
          {Float({rows, 16 * blocks}), words, Float({blocks, columns}), {DataType::kInt32, {8}}}};
}

TEST(ReadyKernels, DecodeWeightsOfFewBitsForAnyNumberOfRows) {
  ExpectOneKernelForAll({Words(5, 16, 256), Words(17, 16, 256), Words(6, 40, 112)});
  EXPECT_EQ(KernelsOf(Words(1, 16, 256)).size(), 1U);
  EXPECT_EQ(KernelsOf(Words(3, 16, 260), 16).size(), 1U);
}

TEST(ReadyKernels, ServeSoftmaxOfAnySize) {
  const auto softmax = [](int64_t rows, int64_t columns) {
    return TestProgram{"Softmax",
                       "function (X[M, N]) -> (O) { T[m, 0 : M, 1] = >(X[m, n]); E = exp(X - T);"
                       " S[m, 0 : M, 1] = +(E[m, n]); O = E / S; }",
                       {Float({rows, columns})}};
  };
  ExpectOneKernelForAll({softmax(9, 64), softmax(33, 77), softmax(4, 200), softmax(12, 51),
                         softmax(9, 1000), softmax(2, 2), softmax(3, 5), softmax(6, 15)});
}

TEST(ReadyKernels, ServeTransposesAndSlicesOfAnySize) {
  const auto moved = [](int64_t b, int64_t rows, int64_t columns) {
    return TestProgram{"Moved",
                       absl::StrCat("function (X[B, M, N]) -> (T, S) { T[b, n, m : B, N, M] = "
                                    "=(X[b, m, n]); S[b, m, n : B, ",
                                    rows - 2, ", N] = =(X[b, m + 1, n]); }"),
                       {Float({b, rows, columns})}};
  };
  ExpectOneKernelForAll({moved(2, 11, 19), moved(3, 24, 16), moved(5, 40, 9), moved(2, 5, 4),
                         moved(3, 9, 3), moved(2, 4, 17)});
}

// Constants that depend on sizes are arguments, too: divisors, selected and negated values.
TEST(ReadyKernels, ServeMeansOfAnySize) {
  const auto mean = [](int64_t rows, int64_t columns) {
    const double part = 1.0 / static_cast<double>(rows);
    return TestProgram{
        "Mean",
        absl::StrCat("function (X[M, N], I[M, N]) -> (O, L) { S[n : N] = +(X[m, n]); O = S / ",
                     rows, ".0; B = I > 0.5; D = B ? -", part, " : 0.0; T[n : N] = +(D[m, n]);",
                     " L = T + ", part, " * O; }"),
        {Float({rows, columns}), Float({rows, columns})}};
  };
  ExpectOneKernelForAll({mean(3, 24), mean(4, 24), mean(61, 19), mean(64, 33)});
}

TEST(ReadyKernels, ServeRandomNumbersAndScansOfAnySize) {
  const auto random = [](int64_t rows, int64_t columns) {
    return TestProgram{
        "Random",
        absl::StrCat("function (S, X[M, N]) -> (R, C, D) { R = prng(S, ", rows, ", ", columns,
                     "); C = cumsum(X, 1, 0, 0); D = cumprod(X, 0, 1, 1); }"),
        {{DataType::kUInt32, {2}}, Float({rows, columns})}};
  };
  ExpectOneKernelForAll({random(3, 2), random(5, 5), random(70, 33), random(2, 1000)});
}

TEST(ReadyKernels, ServeScattersOfAnyNumberOfUpdates) {
  const auto scatter = [](int64_t updates) {
    return TestProgram{"Scatter",
                       "function (D, I, U) -> (O) { O = scatter_nd(D, I, U, 1); }",
                       {Float({7, 40}), {DataType::kInt32, {updates, 1}}, Float({updates, 40})},
                       0,
                       6};
  };
  ExpectOneKernelForAll({scatter(2), scatter(20), scatter(33)});
}

// Indices range from -7 to 7: some count from the end, some repeat, some are out of range.
TestProgram Indexed(const std::string& expression, std::vector<TensorShape> inputs) {
  const char* parameters = inputs.size() == 3 ? "D, I, U" : inputs.size() == 2 ? "D, I" : "D";
  return {expression, absl::StrCat("function (", parameters, ") -> (O) { O = ", expression, "; }"),
          std::move(inputs), -7, 7};
}
TensorShape Int(DataType type, std::vector<int64_t> dims) { return {type, std::move(dims)}; }

TEST(ReadyKernels, ServeScattersOfElementsOfAnySize) {
  for (const int axis : {0, 1}) {
    for (const int mode : {0, 1, 3}) {
      const auto scatter = [&](int64_t rows, int64_t columns, int64_t put_rows,
                               int64_t put_columns) {
        return Indexed(absl::StrCat("scatter_elements(D, I, U, ", axis, ", ", mode, ")"),
                       {Float({rows, columns}), Int(DataType::kInt64, {put_rows, put_columns}),
                        Float({put_rows, put_columns})});
      };
      // Many short rows, then few long ones.
      ExpectOneKernelForAll({scatter(20, 30, 9, 11), scatter(40, 9, 12, 9), scatter(9, 9, 8, 8),
                             scatter(300, 50, 8, 50)});
      const int64_t few = 3;
      const int64_t many = 40;
      const auto line = [&](int64_t size, int64_t put) {
        return axis == 0 ? scatter(size, few, put, few) : scatter(few, size, few, put);
      };
      ExpectOneKernelForAll({line(9, many), line(90, many + 9), line(2, many), line(8, 300)});
    }
  }
}

TEST(ReadyKernels, ServeScattersOfSlicesOfAnySize) {
  const auto scatter = [](int64_t rows, int64_t columns, int64_t updates) {
    return Indexed(
        "scatter_nd(D, I, U, 1)",
        {Float({rows, columns}), Int(DataType::kInt32, {updates, 1}), Float({updates, columns})});
  };
  ExpectOneKernelForAll({scatter(7, 40, 20), scatter(3, 8, 2), scatter(90, 3, 33),
                         scatter(2, 200, 5), scatter(5, 65, 1)});
  const auto points = [](int64_t rows, int64_t columns, int64_t updates) {
    return Indexed("scatter_nd(D, I, U, 0)",
                   {Float({rows, columns}), Int(DataType::kInt64, {updates, 2}), Float({updates})});
  };
  ExpectOneKernelForAll({points(7, 40, 20), points(3, 8, 2), points(9, 2, 33)});
  const auto added = [](int64_t rows, int64_t columns, int64_t updates) {
    return Indexed("scatter(U, I, D)", {Float({rows, columns}), Int(DataType::kInt32, {updates}),
                                        Float({updates, columns})});
  };
  ExpectOneKernelForAll({added(7, 40, 20), added(3, 8, 2), added(9, 3, 33)});
}

TEST(ReadyKernels, ServeGathersFromTablesOfAnySize) {
  const auto rows = [](int64_t rows, int64_t columns, int64_t taken) {
    return Indexed("gather(D, I, 0)", {Float({rows, columns}), Int(DataType::kInt64, {taken})});
  };
  ExpectOneKernelForAll({rows(20, 30, 9), rows(2, 9, 40), rows(3, 8, 2), rows(1, 11, 3)});
  const auto elements = [](int64_t rows, int64_t columns, int64_t taken) {
    return Indexed("gather_elements(D, I, 1)",
                   {Float({rows, columns}), Int(DataType::kInt64, {rows, taken})});
  };
  ExpectOneKernelForAll({elements(20, 30, 9), elements(2, 9, 40), elements(3, 2, 2)});
  const auto points = [](int64_t rows, int64_t columns, int64_t taken) {
    return Indexed("gather_nd(D, I, 0)",
                   {Float({rows, columns}), Int(DataType::kInt32, {taken, 2})});
  };
  ExpectOneKernelForAll({points(20, 30, 9), points(2, 9, 40), points(1, 3, 2)});
}

TEST(ReadyKernels, SortLinesOfAnySize) {
  for (const DataType type : {DataType::kFloat32, DataType::kInt64, DataType::kUInt8,
                              DataType::kFloat16, DataType::kFloat64, DataType::kInt8}) {
    const auto sorted = [type](int64_t lines, int64_t size, int axis) {
      const std::vector<int64_t> dims =
          axis == 1 ? std::vector<int64_t>{lines, size} : std::vector<int64_t>{size, lines};
      return TestProgram{"Sorted",
                         absl::StrCat("function (D) -> (S, O) { S = sort(D, ", axis,
                                      ", 1); O = argsort(D, ", axis, ", 0); }"),
                         {{type, dims}},
                         IsUnsignedInteger(type) ? 0.0 : -50,
                         50};
    };
    for (const int axis : {0, 1}) {
      ExpectOneKernelForAll({sorted(3, 20, axis), sorted(40, 32, axis), sorted(2, 5, axis)});
      ExpectOneKernelForAll({sorted(3, 33, axis), sorted(40, 90, axis), sorted(2, 1000, axis)});
    }
  }
}

TEST(ReadyKernels, FindTheFirstOfAnySize) {
  const auto first = [](int64_t lines, int64_t size, int64_t count, int descending) {
    return Indexed(absl::StrCat("argsort(round(D), 1, ", descending, ", ", count, ")"),
                   {Float({lines, size})});
  };
  for (const int descending : {0, 1}) {
    ExpectOneKernelForAll({first(3, 20, 7, descending), first(2, 9, 9, descending)});
    ExpectOneKernelForAll({first(3, 50, 20, descending), first(5, 90, 90, descending)});
    ExpectOneKernelForAll({first(3, 100, 7, descending), first(2, 40, 1, descending),
                           first(9, 1000, 100, descending), first(2, 800, 2, descending)});
  }
}

// A transformer layer: a normalization, rotary queries and keys of two heads, causal attention, and
// a matmul with an activation.
TestProgram Layer(int64_t length) {
  constexpr int64_t kWidth = 24;
  constexpr int64_t kHeads = 3;
  constexpr int64_t kHeadWidth = kWidth / kHeads;
  return {
      "Layer",
      "function (X[L, C], G[C], Q[C, H, D], K[C, H, D], V[C, H, D], S[L, D], B[L, L], O[H, D, C],"
      " U[C, F]) -> (Y, Z) {"
      " W[l : L] = +(X[l, c] * X[l, c]);"
      " R = 1.0 / sqrt(W / 24.0 + 0.00001);"
      " N[l, c : L, C] = =(X[l, c] * R[l]);"
      " M = N * G;"
      " A[l, h, d : L, H, D] = +(M[l, c] * Q[c, h, d]);"
      " E[l, h, d : L, H, D] = =(A[l, h, d] * S[l, d]);"
      " P[l, h, d : L, H, D] = +(M[l, c] * K[c, h, d]);"
      " T[l, h, d : L, H, D] = +(M[l, c] * V[c, h, d]);"
      " I[h, l, k : H, L, L] = +(E[l, h, d] * P[k, h, d]);"
      " J = I * 0.02 + B;"
      " A1[h, l, 0 : H, L, 1] = >(J[h, l, k]);"
      " A2 = exp(J - A1);"
      " A3[h, l, 0 : H, L, 1] = +(A2[h, l, k]);"
      " A4 = A2 / A3;"
      " A5[l, h, d : L, H, D] = +(A4[h, l, k] * T[k, h, d]);"
      " A6[l, c : L, C] = +(A5[l, h, d] * O[h, d, c]);"
      " Y = 0.1 * X + 0.01 * A6;"
      " A7[l, f : L, F] = +(Y[l, c] * U[c, f]);"
      " Z = 0.1 * A7 / (1.0 + exp(-A7)); }",
      {Float({length, kWidth}), Float({kWidth}), Float({kWidth, kHeads, kHeadWidth}),
       Float({kWidth, kHeads, kHeadWidth}), Float({kWidth, kHeads, kHeadWidth}),
       Float({length, kHeadWidth}), Float({length, length}), Float({kHeads, kHeadWidth, kWidth}),
       Float({kWidth, 40})}};
}

TEST(ReadyKernels, ServeATransformerOfAnyLengthFromTwoOn) {
  const std::set<std::string> first = KernelsOf(Layer(12));
  for (int64_t length = 2; length <= 70; ++length) {
    EXPECT_EQ(KernelsOf(Layer(length)), first) << length;
  }
}

TEST(ReadyKernels, ServeATransformerWithVectorsOfAnyWidth) {
  for (int64_t width : {1, 4, 16}) {
    const std::set<std::string> first = KernelsOf(Layer(12), width);
    for (int64_t length : {1, 2, 3, 4, 5, 7, 15, 16, 17, 33}) {
      const std::set<std::string> kernels = KernelsOf(Layer(length), width);
      if (length > 1) {
        EXPECT_EQ(kernels, first) << width << " " << length;
      }
    }
  }
}

// Covers every size up to more than two tiles, hence every kind of remainder.
TEST(ReadyKernels, ComputeTheSameAtEverySize) {
  for (int64_t m : {1, 2, 3, 4, 5, 8}) {
    for (int64_t k : {1, 2, 31, 32, 33, 200}) {
      for (int64_t n : {1, 7, 8, 9, 15, 16, 17, 35}) KernelsOf(Product(m, k, n));
    }
  }
  for (int64_t size : {1, 2, 3, 4, 5, 9}) {
    for (int64_t out : {1, 3, 8, 12, 16, 20}) {
      KernelsOf(Convolution(size, 3, out, 1));
      KernelsOf(Convolution(size, 2, out, 2));
    }
  }
}

TEST(ReadyKernels, KnowNoNumbersOfTheirProgram) {
  const auto list = Compile(BindTestProgram(Product(1013, 1009, 2003)), Ready());
  ASSERT_TRUE(list.ok()) << list.status();
  for (const loop::Kernel& kernel : list->kernels) {
    const std::string text = loop::ToString(loop::WithoutNames(kernel));
    for (const char* number : {"1013", "1009", "2003"}) {
      EXPECT_EQ(text.find(number), std::string::npos) << text;
    }
  }
}

// Offsets are computed in 64 bits, so the same kernels serve tensors with more than 2^31 elements.
TEST(ReadyKernels, ComputePositionsIn64BitsOnCpus) {
  const auto list = Compile(BindTestProgram(Product(9, 40, 24)), Ready());
  ASSERT_TRUE(list.ok()) << list.status();
  for (const loop::Kernel& kernel : list->kernels) {
    EXPECT_EQ(kernel.index_type, DataType::kInt64);
  }
}

void ExpectEqualLaunches(const std::vector<Step>& actual, const std::vector<Step>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t s = 0; s < actual.size(); ++s) {
    const auto* launch = std::get_if<LaunchStep>(&actual[s]);
    const auto* other = std::get_if<LaunchStep>(&expected[s]);
    ASSERT_EQ(launch == nullptr, other == nullptr);
    if (launch == nullptr) continue;
    EXPECT_EQ(launch->kernel, other->kernel);
    EXPECT_EQ(launch->sizes, other->sizes);
    EXPECT_EQ(launch->global_size, other->global_size);
  }
}

TEST(ReadyKernels, AreSimplifiedOnceForAllSizes) {
  KnownKernels known;
  CompileHooks hooks;
  hooks.known = &known;
  std::map<std::string, loop::StmtPtr> bodies;  // by name
  for (const TestProgram& program :
       {Product(9, 40, 24), Product(31, 129, 65), Convolution(9, 5, 16, 1), Product(2, 40, 24),
        Convolution(14, 4, 32, 1), Convolution(14, 4, 32, 2)}) {
    const auto list = Compile(BindTestProgram(program), Ready(), hooks);
    const auto alone = Compile(BindTestProgram(program), Ready());
    ASSERT_TRUE(list.ok() && alone.ok()) << list.status() << alone.status();
    ASSERT_EQ(list->kernels.size(), alone->kernels.size());
    for (size_t k = 0; k < list->kernels.size(); ++k) {
      const loop::Kernel& kernel = list->kernels[k];
      EXPECT_TRUE(loop::Equal(kernel, alone->kernels[k])) << loop::ToString(kernel);
      EXPECT_EQ(bodies.emplace(kernel.name, kernel.body).first->second, kernel.body);
    }
    ExpectEqualLaunches(list->setup, alone->setup);
    ExpectEqualLaunches(list->steps, alone->steps);
  }
}

}  // namespace
}  // namespace tartan::compiler::ready_kernels_test
