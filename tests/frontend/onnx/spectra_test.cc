// SPDX-License-Identifier: Apache-2.0
// Compares Fourier transforms with their definition, and tests the other signal and matrix
// operators.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_results.h"

namespace tartan::onnx::spectra_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

HostTensor Scalar(double value, DataType type = DataType::kInt64) {
  return Values({}, {value}, type);
}

// The transform with interleaved real and imaginary parts.
std::vector<double> Definition(const std::vector<double>& signal, double sign) {
  const size_t n = signal.size() / 2;
  std::vector<double> spectrum;
  for (size_t k = 0; k < n; ++k) {
    double real = 0;
    double imaginary = 0;
    for (size_t i = 0; i < n; ++i) {
      const double angle =
          sign * 2 * M_PI * static_cast<double>(i * k % n) / static_cast<double>(n);
      real += signal[2 * i] * std::cos(angle) - signal[2 * i + 1] * std::sin(angle);
      imaginary += signal[2 * i] * std::sin(angle) + signal[2 * i + 1] * std::cos(angle);
    }
    spectrum.push_back(real);
    spectrum.push_back(imaginary);
  }
  return spectrum;
}

// Irregular values between -1 and 1.
std::vector<double> Signal(int64_t count) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(std::sin(static_cast<double>(i * i) + 0.5));
  return values;
}

class DftOfLength : public ::testing::TestWithParam<int64_t> {};

// Lengths of dense transforms and of a split one.
INSTANTIATE_TEST_SUITE_P(Lengths, DftOfLength, ::testing::Values(1, 2, 7, 520));

TEST_P(DftOfLength, EqualsTheDefinition) {
  const int64_t n = GetParam();
  const HostTensor x = Values({1, n, 2}, Signal(2 * n), DataType::kFloat64);
  const auto y = EvaluateTensor({"DFT", 17, {x}});
  EXPECT_THAT(y.ToDoubles(), Pointwise(DoubleNear(1e-9), Definition(x.ToDoubles(), -1)));
}

TEST_P(DftOfLength, ComesBackFromTheOneSidedSpectrumOfARealSignal) {
  const int64_t n = GetParam();
  const HostTensor x = Values({1, n, 1}, Signal(n), DataType::kFloat64);
  const std::string one_sided = Attribute("onesided", int64_t{1});
  const auto spectrum = EvaluateTensor({"DFT", 17, {x}, one_sided});
  EXPECT_THAT(spectrum.shape().dims, ElementsAre(1, n / 2 + 1, 2));
  const auto back = EvaluateTensor({"DFT",
                                    17,
                                    {spectrum, Scalar(static_cast<double>(n))},
                                    one_sided + Attribute("inverse", int64_t{1})});
  EXPECT_EQ(back.shape(), x.shape());
  EXPECT_THAT(back.ToDoubles(), Pointwise(DoubleNear(1e-9), x.ToDoubles()));
}

TEST(Dft, TakesLongPrimes) {
  const HostTensor x = Values({1, 521, 2}, Signal(2 * 521), DataType::kFloat64);
  const auto y = EvaluateTensor({"DFT", 17, {x}});
  EXPECT_THAT(y.ToDoubles(), Pointwise(DoubleNear(1e-9), Definition(x.ToDoubles(), -1)));
}

TEST(Dft, CutsAndFillsTheSignal) {
  const HostTensor x = Values({1, 3, 1}, {1, 2, 3});
  EXPECT_THAT(EvaluateTensor({"DFT", 17, {x, Scalar(1)}}).ToDoubles(), ElementsAre(1, 0));
  const auto y = EvaluateTensor({"DFT", 17, {x, Scalar(4)}});
  EXPECT_THAT(y.ToDoubles(),
              Pointwise(DoubleNear(1e-6), {6.0, 0.0, -2.0, -2.0, 2.0, 0.0, -2.0, 2.0}));
}

TEST(Dft, RefusesTheAxisOfParts) {
  const HostTensor x = Values({1, 3, 1}, {1, 2, 3});
  EXPECT_THAT(Error({"DFT", 20, {x, HostTensor(), Scalar(-1)}}), HasSubstr("parts of complex"));
  EXPECT_THAT(Error({"DFT", 17, {x, Scalar(0)}}), HasSubstr("a transform of length 0"));
  EXPECT_THAT(Error({"DFT", 17, {Values({1, 3, 3}, Signal(9))}}), HasSubstr("last size"));
}

TEST(Stft, LeavesOutTheFrameThatDoesNotFit) {
  const HostTensor x = Values({1, 6, 1}, {1, 2, 3, 4, 5, 6});
  const auto y = EvaluateTensor({"STFT", 17, {x, Scalar(3), HostTensor(), Scalar(2)}});
  EXPECT_THAT(y.shape().dims, ElementsAre(1, 2, 2, 2));
  EXPECT_THAT(y.ToDoubles(),
              Pointwise(DoubleNear(1e-6), {3.0, 0.0, -1.0, 0.0, 9.0, 0.0, -1.0, 0.0}));
}

TEST(Stft, WantsAWindowOfTheFrameLength) {
  const HostTensor x = Values({1, 6, 1}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Error({"STFT", 17, {x, Scalar(3), Values({3}, {1, 1, 1}), Scalar(2)}}),
              HasSubstr("a window of 3 elements for frames of 2"));
}

TEST(Det, ExchangesRowsWhereThePivotIsZero) {
  const HostTensor x = Values({2, 3, 3}, {0, 2, 1, 3, 0, 0, 0, 1, 1, 1, 2, 3, 2, 4, 6, 1, 1, 1});
  EXPECT_THAT(EvaluateTensor({"Det", 11, {x}}).ToDoubles(),
              Pointwise(DoubleNear(1e-5), {-3.0, 0.0}));
}

TEST(Det, IsOneForMatricesWithoutElements) {
  EXPECT_THAT(EvaluateTensor({"Det", 11, {Values({2, 0, 0}, {})}}).ToDoubles(), ElementsAre(1, 1));
}

TEST(Det, TakesLargeMatrices) {
  const int64_t n = 40;
  std::vector<double> values(static_cast<size_t>(n * n), 0.0);
  // Twos beside the diagonal's mirror image: n / 2 exchanges, an even number.
  for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i * n + n - 1 - i)] = i == 0 ? -2 : 1;
  EXPECT_THAT(EvaluateTensor({"Det", 11, {Values({n, n}, values)}}).ToDoubles(), ElementsAre(-2));
}

TEST(Det, WantsSquareMatrices) {
  EXPECT_THAT(Error({"Det", 11, {Values({2, 3}, Signal(6))}}), HasSubstr("square matrices"));
}

TEST(CenterCropPad, CutsTheOddElementOffTheEnd) {
  const HostTensor x = Values({4}, {1, 2, 3, 4});
  const auto sized = [&](double size) {
    return EvaluateTensor({"CenterCropPad", 18, {x, Values({1}, {size}, DataType::kInt64)}})
        .ToDoubles();
  };
  EXPECT_THAT(sized(1), ElementsAre(2));
  EXPECT_THAT(sized(0), ElementsAre());
  EXPECT_THAT(sized(7), ElementsAre(0, 1, 2, 3, 4, 0, 0));
}

TEST(Col2Im, AddsUpWhereBlocksOverlap) {
  const auto ints = [](double value) { return Values({1}, {value}, DataType::kInt64); };
  const HostTensor x = Values({1, 2, 3}, {1, 2, 3, 10, 20, 30});
  EXPECT_THAT(EvaluateTensor({"Col2Im", 18, {x, ints(4), ints(2)}}).ToDoubles(),
              ElementsAre(1, 12, 23, 30));
  EXPECT_THAT(Error({"Col2Im", 18, {x, ints(5), ints(2)}}), HasSubstr("do not cover an image"));
}

TEST(MaxPool, IgnoresCeilModeWhereThePaddingIsNotExplicit) {
  const auto y = EvaluateTensor({"MaxPool",
                                 12,
                                 {Values({1, 1, 5}, {1, 2, 3, 4, 5})},
                                 Attribute("auto_pad", std::string("VALID")) +
                                     Attribute("ceil_mode", int64_t{1}) +
                                     Attribute("kernel_shape", std::vector<int64_t>{3}) +
                                     Attribute("strides", std::vector<int64_t>{3})});
  EXPECT_THAT(y.ToDoubles(), ElementsAre(3));
}

}  // namespace
}  // namespace tartan::onnx::spectra_test
