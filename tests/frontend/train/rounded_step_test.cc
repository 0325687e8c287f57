// SPDX-License-Identifier: Apache-2.0
// Compares 16-bit training steps with reference networks that round every stored value, or none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/train/trainer.h"
#include "tests/frontend/train/training_models.h"

namespace tartan::train::rounded_step_test {
namespace {

// Rounds to `bits` significant bits, ties to even, but not finer than 2^least.
double RoundTo(double x, int bits, int least) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int last = std::max(exponent - bits, least);
  return std::ldexp(std::nearbyint(std::ldexp(x, -last)), last);
}

struct Format {
  Precision precision;
  int bits;   // bits of the significand
  int least;  // exponent of the smallest positive number

  double Round(double x) const { return RoundTo(x, bits, least); }
  double unit() const { return std::ldexp(1.0, -bits); }  // maximum relative error
};
constexpr Format kHalf = {Precision::kFloat16, 11, -24};
constexpr Format kBrain = {Precision::kBFloat16, 8, -133};

using Row = std::vector<double>;

// The matrix [M, K] times [K, N].
Row Product(const Row& a, const Row& b, size_t k) {
  const size_t m = a.size() / k;
  const size_t n = b.size() / k;
  Row c(m * n, 0);
  for (size_t i = 0; i < m; ++i)
    for (size_t t = 0; t < k; ++t)
      for (size_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + t] * b[t * n + j];
  return c;
}

Row Transposed(const Row& a, size_t columns) {
  const size_t rows = a.size() / columns;
  Row t(a.size());
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) t[j * rows + i] = a[i * columns + j];
  return t;
}

Row ColumnSums(const Row& a, size_t columns) {
  Row sums(columns, 0);
  for (size_t i = 0; i < a.size(); ++i) sums[i % columns] += a[i];
  return sums;
}

Row Wide(const std::vector<float>& values) { return {values.begin(), values.end()}; }

// The network x[N, 5] -> relu(x w1 + b1) w2 + b2: y[N, 3], in float64 except for stored values.
struct Mlp {
  Row w1 = Wide(Numbers(40, 1)), b1 = Wide(Numbers(8, 2)), w2 = Wide(Numbers(24, 3)),
      b2 = Wide(Numbers(3, 4));

  // A step of plain gradient descent. A null `format` rounds nothing.
  void Step(const HostTensor& x, const HostTensor& classes, double rate, const Format* format,
            double scale) {
    const auto rounded = [&](Row row) {
      if (format != nullptr)
        for (double& value : row) value = format->Round(value);
      return row;
    };
    const auto plus = [](Row row, const Row& bias) {
      for (size_t i = 0; i < row.size(); ++i) row[i] += bias[i % bias.size()];
      return row;
    };
    const size_t n = static_cast<size_t>(x.shape().dims[0]);
    const Row v1 = rounded(w1), v2 = rounded(w2);
    const Row in = x.ToDoubles();
    Row h = rounded(plus(rounded(Product(in, v1, 5)), rounded(b1)));
    for (double& value : h) value = std::max(value, 0.0);
    const Row y = rounded(plus(rounded(Product(h, v2, 8)), rounded(b2)));
    Row dy(y.size());
    for (size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (size_t c = 0; c < 3; ++c) sum += std::exp(y[3 * i + c]);
      for (size_t c = 0; c < 3; ++c) {
        const double hit = static_cast<int64_t>(c) == classes.GetInt(static_cast<int64_t>(i));
        dy[3 * i + c] = scale * (std::exp(y[3 * i + c]) / sum - hit) / static_cast<double>(n);
      }
    }
    dy = rounded(dy);
    Row dh = rounded(Product(dy, Transposed(v2, 3), 3));
    for (size_t i = 0; i < dh.size(); ++i) dh[i] = h[i] > 0 ? dh[i] : 0;
    const auto move = [&](Row* parameter, const Row& gradient) {
      const Row g = rounded(gradient);
      for (size_t i = 0; i < g.size(); ++i) (*parameter)[i] -= rate * g[i] / scale;
    };
    move(&w2, Product(Transposed(h, 8), dy, n));
    move(&b2, ColumnSums(dy, 3));
    move(&w1, Product(Transposed(in, 5), dh, n));
    move(&b1, ColumnSums(dh, 8));
  }
};

// Devices may round float32 factors of matmuls to the format of a step. These have few bits.
HostTensor Rounded(const HostTensor& x) {
  std::vector<float> values;
  for (const double value : x.ToDoubles())
    values.push_back(static_cast<float>(kBrain.Round(value)));
  return HostTensor::FromVector(x.shape(), values);
}

class RoundedStep : public DeviceTest {};

// The reference rounds at the same places but accumulates in float64 instead of float32. So a value
// near a tie may round the other way, which moves a gradient by at most two units.
//
// - float16: most gradients are equal, and their total error is below a tenth of the error without
//   rounding.
// - bfloat16: values inside a kernel keep their precision, so the steps are at least as exact as
//   those of the reference.
TEST_F(RoundedStep, StepsAreThoseOfANetworkByHandThatRoundsWhatItStores) {
  for (const Format& format : {kHalf, kBrain}) {
    TrainerOptions options;
    options.optimizer.kind = OptimizerKind::kSgd;
    options.precision = format.precision;
    options.loss_scale.fixed = 1024;
    const auto model = LoadToTrain(MlpText());
    ASSERT_TRUE(model.ok()) << model.status();
    const auto made = Trainer::Create(*model, device_, options);
    ASSERT_TRUE(made.ok()) << made.status();
    const std::unique_ptr<Trainer>& trainer = *made;
    const double scale = format.precision == Precision::kFloat16 ? 1024 : 1;
    Mlp reference;
    Mlp unrounded;
    const double rate = 0.5;
    for (uint64_t step = 0; step < 3; ++step) {
      const HostTensor x = Rounded(Images(16, 100 + step));
      const HostTensor t = ClassesFor(16, 200 + step);
      ASSERT_EQ(trainer->Step({{"x", x}}, t, rate), absl::OkStatus());
      reference.Step(x, t, rate, &format, scale);
      unrounded.Step(x, t, rate, nullptr, 1);
    }
    const auto progress = trainer->Read();
    ASSERT_TRUE(progress.ok()) << progress.status();
    const auto values = trainer->Values();
    ASSERT_TRUE(values.ok()) << values.status();
    double error = 0;
    double without = 0;
    double most = 0;  // error of a network that rounds all stored values
    const auto compare = [&](const std::string& name, const Row& expected, const Row& other) {
      const Row got = values->at(name).ToDoubles();
      for (size_t i = 0; i < got.size(); ++i) {
        // Gradients are below 1 in magnitude.
        EXPECT_NEAR(got[i], expected[i], 3 * rate * 2 * format.unit()) << name << " " << i;
        error += std::abs(got[i] - expected[i]);
        without += std::abs(got[i] - other[i]);
        most += std::abs(expected[i] - other[i]);
      }
    };
    compare("w1", reference.w1, unrounded.w1);
    compare("b1", reference.b1, unrounded.b1);
    compare("w2", reference.w2, unrounded.w2);
    compare("b2", reference.b2, unrounded.b2);
    if (format.precision == Precision::kFloat16) {
      EXPECT_LT(error, without / 10);
    } else {
      EXPECT_LE(without, most);
    }
  }
}

}  // namespace
}  // namespace tartan::train::rounded_step_test
