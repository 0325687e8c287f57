// SPDX-License-Identifier: Apache-2.0
// Tests programs that the host computes: results equal the naive evaluator's to the last bit.
#include "tile/evaluator/host/host_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/half_programs.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/compiler/row_programs.h"
#include "tests/tile/poly/random_contraction.h"
#include "tests/tile/scalars/special_values.h"
#include "tile/base/scalar_value.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/ir/program_builder.h"

namespace tartan::evaluator {
namespace {

constexpr DataType kTypes[] = {DataType::kBool,    DataType::kInt8,     DataType::kInt16,
                               DataType::kInt32,   DataType::kInt64,    DataType::kUInt8,
                               DataType::kUInt16,  DataType::kUInt32,   DataType::kUInt64,
                               DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32,
                               DataType::kFloat64};

// Compares bits, including the signs of zeros; float64 sums may differ by their order. Returns ""
// if equal.
std::string FirstDifferentBit(const HostTensor& actual, const HostTensor& expected) {
  if (actual.shape() != expected.shape()) return "the shape";
  if (actual.type() == DataType::kFloat64) return FirstDifference(actual, expected, 1e-14);
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    const double a = IsFloat(actual.type()) ? actual.GetDouble(i) : 0;
    const double b = IsFloat(actual.type()) ? expected.GetDouble(i) : 0;
    const bool same = a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b);
    if (same && actual.GetInt(i) == expected.GetInt(i)) continue;
    return absl::StrCat("element ", i, " is ", actual.GetDouble(i), " instead of ",
                        expected.GetDouble(i));
  }
  return "";
}

// `constants` is the number of leading inputs that are constant.
void ExpectNaive(ir::Program program, const std::vector<HostTensor>& inputs, size_t constants = 0) {
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (size_t i = 0; i < constants; ++i) {
    std::get<ir::Input>(program.values[program.inputs[i]].op).is_constant = true;
  }
  const auto host = HostProgram::Create(std::move(program));
  ASSERT_TRUE(host.ok()) << host.status();
  ASSERT_NE(*host, nullptr);
  const absl::Span<const HostTensor> all = inputs;
  const auto known = (*host)->Load(all.first(constants));
  ASSERT_TRUE(known.ok()) << known.status();
  for (int run = 0; run < 2; ++run) {
    const auto actual = (*host)->Run(*known, all.subspan(constants));
    ASSERT_TRUE(actual.ok()) << actual.status();
    ASSERT_EQ(actual->size(), expected->size());
    for (size_t o = 0; o < expected->size(); ++o) {
      EXPECT_EQ(FirstDifferentBit((*actual)[o], (*expected)[o]), "") << "output " << o;
    }
  }
}

class HostProgramTest : public testing::TestWithParam<TestProgram> {};

TEST_P(HostProgramTest, EqualsTheNaiveEvaluator) {
  const std::vector<HostTensor> inputs = RandomInputs(GetParam(), 11);
  for (size_t constants = 0; constants <= inputs.size(); ++constants) {
    SCOPED_TRACE(absl::StrCat(constants, " constant inputs"));
    ExpectNaive(BindTestProgram(GetParam()), inputs, constants);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostProgramTest, testing::ValuesIn(TestPrograms()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(UnpackNibbles, HostProgramTest, testing::ValuesIn(HalfPrograms()),
                         [](const auto& info) { return info.param.name; });

TEST(HostProgram, EqualsTheNaiveEvaluatorOnChainsOverRows) {
  for (const RowProgram& row : RowPrograms()) {
    SCOPED_TRACE(row.program.name);
    ExpectNaive(BindTestProgram(row.program), RandomInputs(row.program, 5));
  }
}

TEST(HostProgram, EqualsTheNaiveEvaluatorOnChainsOfHalves) {
  for (uint64_t seed = 1; seed < 40; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const HalfChain chain = RandomHalfChain(seed);
    ExpectNaive(BindTestProgram(chain.program), chain.inputs);
  }
}

TEST(HostProgram, EqualsTheNaiveEvaluatorOnSpecialNumbersInEveryFunction) {
  for (const DataType type : kTypes) {
    const Pairs pairs = SpecialPairs(type);
    const TensorShape shape = {type, {static_cast<int64_t>(pairs.first.size()) / ByteWidth(type)}};
    const std::vector<HostTensor> inputs = {{shape, pairs.first}, {shape, pairs.second}};
    for (int number = 0; number < static_cast<int>(ScalarOp::kSelect); ++number) {
      const auto op = static_cast<ScalarOp>(number);
      if (op == ScalarOp::kCast || !IsDefined(op, type)) continue;
      SCOPED_TRACE(absl::StrCat(Name(type), " function ", number));
      ir::ProgramBuilder builder;
      const ir::ValueId a = *builder.AddInput("A", shape);
      const ir::ValueId b = *builder.AddInput("B", shape);
      std::vector<ir::ValueId> operands = {a};
      if (op >= ScalarOp::kAdd) operands.push_back(b);
      const auto result = builder.AddElementwise(op, operands);
      if (!result.ok()) continue;
      builder.AddOutput(*result, "O");
      builder.AddOutput(*builder.AddElementwise(ScalarOp::kIdentity, {b}), "P");
      ExpectNaive(*std::move(builder).Build(), inputs);
    }
  }
}

TEST(HostProgram, EqualsTheNaiveEvaluatorOnConversionsOfSpecialNumbers) {
  for (const DataType from : kTypes) {
    const std::vector<uint8_t> bytes = SpecialBuffer(from);
    const TensorShape shape = {from, {static_cast<int64_t>(bytes.size()) / ByteWidth(from)}};
    ir::ProgramBuilder builder;
    const ir::ValueId a = *builder.AddInput("A", shape);
    for (const DataType to : kTypes)
      builder.AddOutput(*builder.AddCast(a, to), std::string(Name(to)));
    SCOPED_TRACE(Name(from));
    ExpectNaive(*std::move(builder).Build(), {{shape, bytes}});
  }
}

TEST(HostProgram, EqualsTheNaiveEvaluatorOnAggregationsOfSpecialNumbers) {
  for (const DataType type : kTypes) {
    for (const char* text :
         {"O[i : N] = +(A[i, j] * B[i, j])", "O[i : N] = >(A[i, j] * B[i, j])",
          "O[i : N] = <(A[i, j] + B[i, j])", "O[i : N] = *(A[i, j] + B[i, j])",
          "O[i : N] = +(A[i, j] == B[i, j])", "O[j : M] = +(A[i, j] == B[i, j] ? A[i, j])",
          "O[] = +(A[i, j])", "O[j : M] = >(A[i, j])", "O[i : N] = <(B[i, j])",
          "O[i : N] = *(A[i, j])", "O[j, i : 2 * M, N] = =(A[i, j])"}) {
      SCOPED_TRACE(absl::StrCat(Name(type), " ", text));
      const Pairs pairs = SpecialPairs(type);
      const int64_t count = static_cast<int64_t>(pairs.first.size()) / ByteWidth(type);
      const TensorShape shape = {type, {3, count / 3}};
      const auto tensor = [&](const std::vector<uint8_t>& bytes) {
        return HostTensor(shape, absl::MakeConstSpan(bytes).first(shape.byte_size()));
      };
      const TestProgram program = {
          "Special", absl::StrCat("function (A[N, M], B) -> (O) { ", text, "; }"), {shape, shape}};
      ExpectNaive(BindTestProgram(program), {tensor(pairs.first), tensor(pairs.second)});
    }
  }
}

// A random contraction, as in the tests of the index analysis, with random types and values.
class RandomCase {
 public:
  explicit RandomCase(uint64_t seed)
      : problem_(poly::RandomContraction(seed, {1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 11}).Next()),
        random_(seed) {}

  // Returns false if an index is unbounded, or if the contraction writes an element twice.
  bool Make() {
    if (!poly::IsBounded(problem_)) return false;
    ir::ProgramBuilder builder;
    ir::Contraction& contraction = problem_.contraction;
    for (size_t i = 0; i < contraction.inputs.size(); ++i) {
      const TensorShape shape = {Type(), problem_.input_dims[i]};
      contraction.inputs[i].tensor = *builder.AddInput(absl::StrCat("A", i), shape);
      inputs_.push_back(Values(shape));
    }
    contraction.aggregation = static_cast<Aggregation>(random_() % 5);
    constexpr Combination kOfTwo[] = {Combination::kMultiply, Combination::kAdd,
                                      Combination::kEqual};
    contraction.combination = contraction.inputs.size() == 1   ? Combination::kNone
                              : contraction.inputs.size() == 3 ? Combination::kCond
                                                               : kOfTwo[random_() % 3];
    const bool has_default = random_() % 3 == 0;
    auto made = builder.AddContraction(contraction, problem_.output_dims);
    if (made.ok() && has_default) {
      const TensorShape shape = builder.shape(*made);
      contraction.default_value = *builder.AddInput("D", shape);
      inputs_.push_back(Values(shape));
      made = builder.AddContraction(contraction, problem_.output_dims);
    }
    if (!made.ok()) return false;
    builder.AddOutput(*made, "O");
    auto program = std::move(builder).Build();
    if (!program.ok() || !ir::EvaluateNaively(*program, inputs_, {.max_points = 1 << 20}).ok()) {
      return false;
    }
    program_ = *std::move(program);
    return true;
  }

  const ir::Program& program() const { return program_; }
  const std::vector<HostTensor>& inputs() const { return inputs_; }
  std::string ToString() const { return problem_.ToString(); }

 private:
  DataType Type() { return kTypes[random_() % std::size(kTypes)]; }
  // Floats are odd multiples of 1/4, so that sums are exact and zeros have one sign in every order.
  HostTensor Values(const TensorShape& shape) {
    std::vector<uint8_t> bytes(static_cast<size_t>(shape.byte_size()));
    for (int64_t i = 0; i < shape.element_count(); ++i) {
      if (IsFloat(shape.type)) {
        const auto odd = static_cast<double>(2 * static_cast<int64_t>(random_() % 16) - 15);
        StoreElement(shape.type, odd / 4, i, bytes.data());
      } else {
        StoreElement(shape.type, static_cast<int64_t>(random_()), i, bytes.data());
      }
    }
    return {shape, bytes};
  }

  poly::Problem problem_;
  std::mt19937_64 random_;
  std::vector<HostTensor> inputs_;
  ir::Program program_;
};

TEST(HostProgram, EqualsTheNaiveEvaluatorOnRandomContractions) {
  const int64_t count = poly::FromEnvironment("TARTAN_LONG_TESTS", 1500);
  const auto first = static_cast<uint64_t>(poly::FromEnvironment("TARTAN_TEST_SEED", 20261122));
  int64_t compared = 0;
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(count); ++seed) {
    RandomCase one(seed);
    if (!one.Make()) continue;
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", one.ToString()));
    ExpectNaive(one.program(), one.inputs());
    ++compared;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(compared, count / 10);
}

// Programs with contractions that are large enough for blocked matmuls.
std::vector<TestProgram> LargeSums() {
  const auto f32 = [](std::vector<int64_t> dims) { return TensorShape{DataType::kFloat32, dims}; };
  return {
      {"Matmul",
       "function (A[M, K], B[K, N]) -> (O) { O[m, n : M, N] = +(A[m, k] * B[k, n]); }",
       {f32({41, 530}), f32({530, 35})}},
      {"MatmulOfColumns",
       "function (A[K, M], B[N, K]) -> (O) { O[m, n : M, N] = +(A[k, m] * B[n, k]); }",
       {f32({90, 70}), f32({50, 90})}},
      {"BatchedMatmul",
       "function (A[B, M, H, K], C[B, N, H, K]) -> (O) "
       "{ O[b, h, m, n : B, H, M, N] = +(A[b, m, h, k] * C[b, n, h, k]); }",
       {f32({3, 30, 4, 33}), f32({3, 29, 4, 33})}},
      {"Convolution",
       "function (X[N, C, H, W], K[D, C, I, J]) -> (O) "
       "{ O[n, d, y, x : N, D, H, W] = +(X[n, c, y + i - 1, x + j - 1] * K[d, c, i, j]); }",
       {f32({2, 6, 19, 21}), f32({9, 6, 3, 3})}},
      {"StridedConvolution",
       "function (X[N, H, W, C], K[I, J, C, D]) -> (O) { O[n, y, x, d : N, H / 2, W / 2, D] = "
       "+(X[n, 2 * y + i - 1, 2 * x + j - 1, c] * K[i, j, c, d]); }",
       {f32({3, 26, 28, 5}), f32({3, 3, 5, 13})}},
      {"GradientOfStridedConvolution",
       "function (G[N, D, H, W], K[D, C, I, J]) -> (O) { O[n, c, 2 * y + i - 1, 2 * x + j - 1 : "
       "N, C, 2 * H, 2 * W] = +(G[n, d, y, x] * K[d, c, i, j]); }",
       {f32({2, 9, 13, 14}), f32({9, 10, 3, 3})}},
      {"GradientByWeights",
       "function (X[N, C, H, W], G[N, D, H, W]) -> (O) { O[d, c, i, j : 12, 7, 3, 3] = "
       "+(X[n, c, y + i - 1, x + j - 1] * G[n, d, y, x]); }",
       {f32({2, 7, 19, 21}), f32({2, 12, 19, 21})}},
      {"Halves",
       "function (A[M, K], B[K, N]) -> (O) { O[m, n : M, N] = +(A[m, k] * B[k, n]); }",
       {{DataType::kFloat16, {64, 80}}, {DataType::kFloat16, {80, 64}}}},
  };
}

HostTensor RunOnHost(const TestProgram& program, const std::vector<HostTensor>& inputs) {
  const auto host = *HostProgram::Create(BindTestProgram(program));
  return host->Run(*host->Load({}), inputs)->at(0);
}

TEST(HostProgram, RoundsLargeSumsOfProductsAsFloat32) {
  for (const TestProgram& program : LargeSums()) {
    const std::vector<HostTensor> inputs = RandomInputs(program, 17);
    const auto expected = *ir::EvaluateNaively(BindTestProgram(program), inputs);
    const double tolerance = inputs[0].type() == DataType::kFloat32 ? 1e-5 : 1e-3;
    EXPECT_EQ(FirstDifference(RunOnHost(program, inputs), expected[0], tolerance), "")
        << program.name;
  }
}

// Sums of integers are exact, so that results do not depend on the parts that threads compute.
TEST(HostProgram, EqualsTheNaiveEvaluatorOnWorkOfSeveralThreads) {
  const auto ints = [](std::vector<int64_t> dims) { return TensorShape{DataType::kInt32, dims}; };
  const std::vector<TestProgram> programs = {
      {"Matmul",
       "function (A[M, K], B[K, N]) -> (O) { O[m, n : M, N] = +(A[m, k] * B[k, n]); }",
       {ints({131, 90}), ints({90, 151})}},
      {"PaddedWindows",
       "function (X[N, H, W], K[D, I, J]) -> (O) { O[n, d, y, x : N, D, H, W] = "
       "+(X[n, y + i - 1, x + j - 1] * K[d, i, j]); }",
       {ints({3, 61, 67}), ints({17, 3, 3})}},
      {"GradientOfStridedWindows",
       "function (G[N, H, W], K[I, J]) -> (O) { O[n, 2 * y + i - 1, 2 * x + j - 1 : N, 2 * H, "
       "2 * W] = +(G[n, y, x] * K[i, j]); }",
       {ints({7, 131, 133}), ints({3, 3})}},
      {"Maxima", "function (A[M, N]) -> (O) { O[n : N] = >(A[m, n]); }", {ints({1501, 901})}},
  };
  for (const TestProgram& program : programs) {
    SCOPED_TRACE(program.name);
    const auto host = *HostProgram::Create(BindTestProgram(program));
    EXPECT_GT(host->milliseconds(), 1) << "too little work for two threads";
    ExpectNaive(BindTestProgram(program), RandomInputs(program, 23));
  }
}

TEST(HostProgram, KeepsInfinitiesOfLargeSumsToTheirPoints) {
  const TestProgram convolution = LargeSums()[3];
  std::vector<HostTensor> inputs = RandomInputs(convolution, 18);
  std::vector<double> weights = inputs[1].ToDoubles();
  for (size_t i = 0; i < weights.size(); i += 9) weights[i] = INFINITY;  // of the corner (0, 0)
  std::vector<uint8_t> bytes(static_cast<size_t>(inputs[1].shape().byte_size()));
  for (size_t i = 0; i < weights.size(); ++i) {
    StoreElement(DataType::kFloat32, weights[i], static_cast<int64_t>(i), bytes.data());
  }
  inputs[1] = HostTensor(inputs[1].shape(), bytes);
  const std::vector<double> result = RunOnHost(convolution, inputs).ToDoubles();
  for (size_t i = 0; i < result.size(); ++i) {
    const bool has_corner = i % 21 != 0 && i / 21 % 19 != 0;
    ASSERT_EQ(std::isfinite(result[i]), !has_corner) << i;
  }
}

TEST(HostProgram, EstimatesLargeSumsOfProductsByTheirBlocks) {
  const auto host = *HostProgram::Create(BindTestProgram(LargeSums()[0]));
  const auto wide = *HostProgram::Create(
      BindTestProgram({"Wide",
                       LargeSums()[0].code,
                       {{DataType::kFloat64, {41, 530}}, {DataType::kFloat64, {530, 35}}}}));
  EXPECT_LT(4 * host->milliseconds(), wide->milliseconds());
}

TEST(HostProgram, TellsWhichInputIsOfAnotherShape) {
  const TestProgram program = {"Add",
                               "function (A, B) -> (O) { O = A + B; }",
                               {{DataType::kFloat32, {3}}, {DataType::kFloat32, {3}}}};
  const auto host = *HostProgram::Create(BindTestProgram(program));
  const std::vector<HostTensor> inputs = RandomInputs(program, 1);
  const auto known = host->Load({});
  const auto missing = host->Run(*known, absl::MakeConstSpan(inputs).first(1));
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(missing.status().message(), "input 'B' is missing, or its shape is not float32[3]");
}

TEST(HostProgram, KnowsWhatWorkIsTooMuchForTheHost) {
  const auto milliseconds = [](const std::string& code, std::vector<TensorShape> inputs) {
    return (*HostProgram::Create(BindTestProgram({"P", code, std::move(inputs)})))->milliseconds();
  };
  const std::string product =
      "function (A[M, K], B[K, N]) -> (O) { O[m, n : M, N] = +(A[m, k] * B[k, n]); }";
  const double small =
      milliseconds(product, {{DataType::kFloat32, {1, 100}}, {DataType::kFloat32, {100, 100}}});
  const double large = milliseconds(
      product, {{DataType::kFloat32, {2000, 2000}}, {DataType::kFloat32, {2000, 2000}}});
  EXPECT_LT(small, 0.2);
  EXPECT_GT(large, 500);
}

TEST(HostProgram, StoresConstantsFasterThanAKernel) {
  for (const char* code : {"function () -> (O) { S = as_int(12, 32); O = S - 1; }",
                           "function () -> (O, P) { O = as_float(1.5, 32); P = O > 1.0; }"}) {
    const auto host = HostProgram::Create(BindTestProgram({"P", code, {}}));
    ASSERT_TRUE(host.ok() && *host != nullptr) << code;
    EXPECT_TRUE((*host)->IsFasterThanKernels(/*most_ms=*/25, /*times=*/1)) << code;
  }
}

}  // namespace
}  // namespace tartan::evaluator
