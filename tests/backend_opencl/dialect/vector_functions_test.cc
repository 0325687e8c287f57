// SPDX-License-Identifier: Apache-2.0
// The functions of vector_functions.h over the whole range of float32, compared with the host's
// functions in double precision.
#include "backend_opencl/dialect/vector_functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "opencl_runner.h"
#include "tile/base/scalar_op.h"
#include "tile/loop/build.h"

namespace tartan::opencl {
namespace {

constexpr int kLanes = 8;
constexpr int64_t kChunk = 256;  // vectors per work-item

struct Case {
  ScalarOp op;
  double ulps;  // the error bound stated in the header
  double ulps_without_fma = ulps;
};

// True if the processor has fused multiply-add and PoCL reports it, too (tests/pretend).
bool HasFma() {
  const char* taken = std::getenv("TARTAN_PRETEND");
  if (taken != nullptr && absl::StrContains(taken, "fma")) return false;
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

// Returns every 499th float, including NaN and infinities, and all floats near critical points of
// the functions.
std::vector<float> Samples() {
  std::vector<float> samples;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 499) {
    samples.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (float turn : {0.0f,
                     0x1p-126f,
                     0x1p-149f,
                     1.0f,
                     0.70710678f,
                     1.41421356f,
                     0.34657359f,
                     0.5f,
                     2.5f,
                     3.93f,
                     9.02f,
                     87.336544f,
                     88.722839f,
                     89.0f,
                     89.5f,
                     103.97208f,
                     104.0f,
                     4194304.5f,
                     0x1p23f,
                     std::numeric_limits<float>::max(),
                     std::numeric_limits<float>::infinity()}) {
    const uint32_t bits = std::bit_cast<uint32_t>(turn);
    for (uint32_t sign : {0u, 0x80000000u}) {
      for (uint32_t step = 0; step < 64; ++step) {
        samples.push_back(std::bit_cast<float>((bits + step - 32) ^ sign));
      }
    }
  }
  // Zeros of sine and cosine, where all leading digits cancel.
  for (int n = -150000; n < 150000; n += 7)
    samples.push_back(static_cast<float>(n * 1.5707963267948966));
  while (samples.size() % (kLanes * kChunk) != 0) samples.push_back(1.0f);
  return samples;
}

double Reference(ScalarOp op, double x) {
  switch (op) {
    case ScalarOp::kExp:
      return std::exp(x);
    case ScalarOp::kLog:
      return std::log(x);
    case ScalarOp::kTanh:
      return std::tanh(x);
    case ScalarOp::kErf:
      return std::erf(x);
    case ScalarOp::kRound:
      return std::nearbyint(x);
    case ScalarOp::kSin:
      return std::sin(x);
    case ScalarOp::kCos:
      return std::cos(x);
    case ScalarOp::kTan:
      return std::tan(x);
    default:
      return 1 / (1 + std::exp(-x));
  }
}

// Returns the error of `actual` in units in the last place of the float32 nearest to the value.
// Infinite if exactly one of them is NaN or infinite.
double ErrorInUlps(float actual, double value) {
  const auto rounded = static_cast<float>(value);
  if (std::isnan(actual) || std::isnan(rounded)) {
    return std::isnan(actual) && std::isnan(rounded) ? 0 : HUGE_VAL;
  }
  if (std::isinf(actual) || std::isinf(rounded)) return actual == rounded ? 0 : HUGE_VAL;
  if (rounded == 0 && actual == 0)
    return std::signbit(rounded) == std::signbit(actual) ? 0 : HUGE_VAL;
  const int exponent = std::max(rounded == 0 ? -126 : std::ilogb(rounded), -126);
  return std::abs(actual - value) / std::ldexp(1.0, exponent - 23);
}

class VectorFunctions : public testing::TestWithParam<Case> {};

TEST_P(VectorFunctions, AreAsExactAsPromised) {
  const ScalarOp op = GetParam().op;
  const double ulps = HasFma() ? GetParam().ulps : GetParam().ulps_without_fma;
  const std::vector<float> samples = Samples();
  loop::Kernel kernel;
  kernel.name = "function";
  kernel.parameters = {{"y", DataType::kFloat32, true}, {"x", DataType::kFloat32}};
  kernel.global_size[0] = static_cast<int64_t>(samples.size()) / (kLanes * kChunk);
  const loop::Type index{DataType::kInt32, 1};
  const loop::ExprPtr at = loop::Mul(
      loop::Add(loop::Mul(loop::Var("item", index), loop::Int(kChunk)), loop::Var("step", index)),
      loop::Int(kLanes));
  const loop::ExprPtr x = loop::LoadFrom("x", DataType::kFloat32, at, kLanes);
  kernel.body = loop::MakeBlock(
      {loop::MakeDeclare(index, "item", loop::Work(loop::WorkId::kGlobal, 0)),
       loop::MakeFor("step", loop::Int(0), loop::Int(kChunk),
                     loop::MakeStore("y", DataType::kFloat32, at, loop::ApplyOp(op, {x})))});
  std::vector<std::vector<uint8_t>> buffers(2,
                                            std::vector<uint8_t>(samples.size() * sizeof(float)));
  std::memcpy(buffers[1].data(), samples.data(), buffers[1].size());
  OpenClRunner runner({&kernel, 1});
  ASSERT_EQ(runner.Run(kernel, absl::MakeSpan(buffers)).message(), "");
  double worst = 0;
  int failures = 0;
  for (size_t i = 0; i < samples.size() && failures < 8; ++i) {
    float actual;
    std::memcpy(&actual, buffers[0].data() + i * sizeof(float), sizeof(float));
    const double value = Reference(op, samples[i]);
    // 1 / (1 + exp(-x)) in float32 is 0 if exp(-x) is infinite.
    if (op == ScalarOp::kSigmoid && samples[i] < -88.7f && actual == 0) continue;
    const double error = ErrorInUlps(actual, value);
    worst = std::max(worst, error);
    if (error <= ulps) continue;
    ++failures;
    ADD_FAILURE() << op << "(" << absl::StrCat(samples[i]) << ") = " << absl::StrCat(actual)
                  << ", not " << absl::StrCat(value) << ": " << error << " ulp";
  }
  RecordProperty("worst_ulps_in_hundredths", static_cast<int>(worst * 100));
}

INSTANTIATE_TEST_SUITE_P(EachOne, VectorFunctions,
                         testing::Values(Case{ScalarOp::kExp, 1, 1.5}, Case{ScalarOp::kLog, 2},
                                         Case{ScalarOp::kSigmoid, 3}, Case{ScalarOp::kTanh, 6},
                                         Case{ScalarOp::kErf, 5, 8}, Case{ScalarOp::kRound, 0},
                                         Case{ScalarOp::kSin, 2.5}, Case{ScalarOp::kCos, 2.5},
                                         Case{ScalarOp::kTan, 4.5}),
                         [](const auto& info) { return std::string(Name(info.param.op)); });

// Dividends of all exponents whose quotients are normal, and special ones.
std::vector<float> Dividends() {
  std::vector<float> dividends = {0.0f,
                                  -0.0f,
                                  std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::max()};
  const std::vector<float> samples = Samples();
  for (size_t i = 0; i < samples.size(); i += 7) {
    const float size = std::abs(samples[i]);
    if (size >= 0x1p-60f && size <= std::numeric_limits<float>::max()) {
      dividends.push_back(samples[i]);
    }
  }
  while (dividends.size() % (kLanes * kChunk) != 0) dividends.push_back(1.0f);
  return dividends;
}

class QuotientsOfLiterals : public testing::TestWithParam<float> {};

// Examples of Markstein's theorem: on a GPU a quotient by a literal equals the division's.
TEST_P(QuotientsOfLiterals, AreCorrectlyRoundedOnGpus) {
  if (!HasFma()) GTEST_SKIP() << "the correction needs a fused multiply-add";
  const float divisor = GetParam();
  const std::vector<float> x = Dividends();
  loop::Kernel kernel;
  kernel.name = "quotient";
  kernel.parameters = {{"y", DataType::kFloat32, true}, {"x", DataType::kFloat32}};
  kernel.global_size[0] = static_cast<int64_t>(x.size()) / kLanes;
  const loop::ExprPtr at = loop::Mul(loop::Work(loop::WorkId::kGlobal, 0), loop::Int(kLanes));
  const loop::ExprPtr divided = loop::ApplyOp(
      ScalarOp::kDiv, {loop::LoadFrom("x", DataType::kFloat32, at, kLanes),
                       loop::Splat(loop::Float(divisor, DataType::kFloat32), kLanes)});
  kernel.body = loop::MakeBlock({loop::MakeStore("y", DataType::kFloat32, at, divided)});
  std::vector<std::vector<uint8_t>> buffers(2, std::vector<uint8_t>(x.size() * sizeof(float)));
  std::memcpy(buffers[1].data(), x.data(), buffers[1].size());
  OpenClDialectOptions options;
  options.is_cpu = false;
  OpenClRunner runner({&kernel, 1}, options);
  ASSERT_TRUE(absl::StrContains(runner.source(), "tt_quotient_float8(")) << runner.source();
  ASSERT_EQ(runner.Run(kernel, absl::MakeSpan(buffers)).message(), "");
  int failures = 0;
  for (size_t i = 0; i < x.size() && failures < 4; ++i) {
    float actual;
    std::memcpy(&actual, buffers[0].data() + i * sizeof(float), sizeof(float));
    const float expected = x[i] / divisor;
    if (std::isnan(expected) && std::isnan(actual)) continue;
    if (std::bit_cast<uint32_t>(actual) == std::bit_cast<uint32_t>(expected)) continue;
    ++failures;
    ADD_FAILURE() << x[i] << " / " << divisor << " = " << actual << ", not " << expected;
  }
}

INSTANTIATE_TEST_SUITE_P(By, QuotientsOfLiterals,
                         testing::Values(1.0f, 1.41421354f, -1.99999988f, 3.0f, 7.0f, 768.0f,
                                         2.50662827f, -12345.6789f, 1.00000012f, 1e9f),
                         [](const auto& info) { return absl::StrCat("Number", info.index); });

// Extracts the signed `bits`-bit integers at bit `shift` of `lanes` adjacent words.
loop::ExprPtr SignedNumbers(int64_t bits, int64_t shift, int lanes) {
  const auto number = [&](int64_t value) { return loop::Splat(loop::Int(value), lanes); };
  const loop::ExprPtr place = loop::Mul(loop::Work(loop::WorkId::kGlobal, 0), loop::Int(lanes));
  const loop::ExprPtr low = loop::ApplyOp(
      ScalarOp::kShiftRight, {loop::LoadFrom("x", DataType::kInt32, place, lanes), number(shift)});
  const loop::ExprPtr top = loop::ApplyOp(ScalarOp::kShiftLeft, {low, number(32 - bits)});
  return loop::Cast(loop::ApplyOp(ScalarOp::kShiftRight, {top, number(32 - bits)}),
                    DataType::kFloat32);
}

class SmallNumbers : public testing::TestWithParam<int> {};

TEST_P(SmallNumbers, AreThoseOfTheirBitsWhateverIsBesideThem) {
  const int lanes = GetParam();
  constexpr int64_t kWords = 256;
  std::vector<int32_t> words;
  for (uint32_t i = 0; i < kWords; ++i) words.push_back(static_cast<int32_t>(i * 2654435761u));
  loop::Kernel kernel;
  kernel.name = "numbers";
  kernel.parameters = {{"y", DataType::kFloat32, true}, {"x", DataType::kInt32}};
  kernel.global_size[0] = kWords / lanes;
  std::vector<loop::StmtPtr> stores;
  std::vector<float> expected;
  for (const int64_t bits : {2, 4}) {
    for (int64_t shift = 0; shift < 32; shift += bits) {
      const loop::ExprPtr place =
          loop::Add(loop::Mul(loop::Work(loop::WorkId::kGlobal, 0), loop::Int(lanes)),
                    loop::Int(static_cast<int64_t>(expected.size())));
      stores.push_back(
          loop::MakeStore("y", DataType::kFloat32, place, SignedNumbers(bits, shift, lanes)));
      for (const int32_t word : words) {
        const int64_t field =
            static_cast<int64_t>(static_cast<uint32_t>(word) >> shift) % (int64_t{1} << bits);
        const int64_t sign = int64_t{1} << (bits - 1);
        expected.push_back(static_cast<float>(field < sign ? field : field - 2 * sign));
      }
    }
  }
  kernel.body = loop::MakeBlock(std::move(stores));
  std::vector<std::vector<uint8_t>> buffers = {
      std::vector<uint8_t>(expected.size() * sizeof(float)),
      std::vector<uint8_t>(words.size() * sizeof(int32_t))};
  std::memcpy(buffers[1].data(), words.data(), buffers[1].size());
  OpenClRunner runner({&kernel, 1});
  ASSERT_EQ(runner.Run(kernel, absl::MakeSpan(buffers)).message(), "");
  std::vector<float> actual(expected.size());
  std::memcpy(actual.data(), buffers[0].data(), buffers[0].size());
  EXPECT_EQ(actual, expected);
}

INSTANTIATE_TEST_SUITE_P(InVectors, SmallNumbers, testing::Values(1, 4, 8, 16),
                         [](const auto& info) { return absl::StrCat("Of", info.param); });

TEST(VectorFunctionNames, AreThoseOfFloat32VectorsAlone) {
  EXPECT_TRUE(HasVectorFunction(ScalarOp::kExp, {DataType::kFloat32, 8}));
  EXPECT_FALSE(HasVectorFunction(ScalarOp::kExp, {DataType::kFloat32, 1}));
  EXPECT_FALSE(HasVectorFunction(ScalarOp::kExp, {DataType::kFloat64, 4}));
  EXPECT_FALSE(HasVectorFunction(ScalarOp::kSqrt, {DataType::kFloat32, 8}));
}

}  // namespace
}  // namespace tartan::opencl
