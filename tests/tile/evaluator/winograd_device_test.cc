// SPDX-License-Identifier: Apache-2.0
// Tests Winograd's algorithm on the device. Results are within 1e-4 of the output's range of the
// float64 results, for ResNet-50 sizes and for sizes that no tile divides.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "backend_opencl/dialect/opencl_dialect.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/evaluator/device.h"
#include "tile/compiler/compiler.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::evaluator::winograd_device_test {
namespace {

struct Case {
  int64_t n, c, h, w, k;
  // Zero padding of the image in rows and columns.
  int64_t top = 1, bottom = 1, left = 1, right = 1;
  bool constant_weights = true;

  int64_t output_height() const { return h + top + bottom - 2; }
  int64_t output_width() const { return w + left + right - 2; }
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "n" << c.n << "c" << c.c << "h" << c.h << "w" << c.w << "k" << c.k << "p" << c.top
             << c.bottom << c.left << c.right;
}

std::vector<float> RandomFloats(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

// Returns relu(correlation + bias) in float64, with channels first.
std::vector<double> Expected(const Case& p, const std::vector<float>& data,
                             const std::vector<float>& weights, const std::vector<float>& bias) {
  std::vector<double> result(p.n * p.k * p.output_height() * p.output_width());
  size_t at = 0;
  for (int64_t n = 0; n < p.n; ++n) {
    for (int64_t k = 0; k < p.k; ++k) {
      for (int64_t y = 0; y < p.output_height(); ++y) {
        for (int64_t x = 0; x < p.output_width(); ++x) {
          double sum = bias[k];
          for (int64_t c = 0; c < p.c; ++c) {
            for (int64_t i = 0; i < 3; ++i) {
              const int64_t row = y + i - p.top;
              if (row < 0 || row >= p.h) continue;
              for (int64_t j = 0; j < 3; ++j) {
                const int64_t column = x + j - p.left;
                if (column < 0 || column >= p.w) continue;
                sum += static_cast<double>(data[((n * p.c + c) * p.h + row) * p.w + column]) *
                       static_cast<double>(weights[((k * p.c + c) * 3 + i) * 3 + j]);
              }
            }
          }
          result[at++] = std::max(sum, 0.0);
        }
      }
    }
  }
  return result;
}

// Transposes [n][from][to] into [n][to][from].
std::vector<float> SwapInner(const std::vector<float>& values, int64_t n, int64_t from,
                             int64_t to) {
  std::vector<float> swapped(values.size());
  for (int64_t b = 0; b < n; ++b) {
    for (int64_t i = 0; i < from; ++i) {
      for (int64_t j = 0; j < to; ++j) {
        swapped[(b * to + j) * from + i] = values[(b * from + i) * to + j];
      }
    }
  }
  return swapped;
}

HostTensor Tensor(std::vector<int64_t> dims, const std::vector<float>& values) {
  return HostTensor::FromVector<float>({DataType::kFloat32, std::move(dims)}, values);
}

class WinogradDeviceTest : public testing::TestWithParam<Case> {
 protected:
  // Checks the maximum error relative to the maximum element.
  void Check(bool channels_last) {
    const Case& p = GetParam();
    const std::vector<float> data = RandomFloats(p.n * p.c * p.h * p.w, 1);
    const std::vector<float> weights = RandomFloats(p.k * p.c * 9, 2);
    const std::vector<float> bias = RandomFloats(p.k, 3);
    const std::string window = absl::StrCat("y + i - ", p.top, ", x + j - ", p.left);
    const std::string height = absl::StrCat(p.output_height());
    const std::string width = absl::StrCat(p.output_width());
    TestProgram program;
    program.name = "winograd";
    program.code =
        channels_last
            ? absl::StrCat("function (D[N, H, W, C], F[K, C, I, J], B) -> (R) { O[n, y, x, k : N, ",
                           height, ", ", width, ", K] = +(D[n, ", window,
                           ", c] * F[k, c, i, j]); R = relu(O + B); }")
            : absl::StrCat(
                  "function (D[N, C, H, W], F[K, C, I, J], B) -> (R) { O[n, k, y, x : N, "
                  "K, ",
                  height, ", ", width, "] = +(D[n, c, ", window,
                  "] * F[k, c, i, j]); R = relu(O + reshape(B, ", p.k, ", 1, 1)); }");
    const HostTensor image =
        channels_last ? Tensor({p.n, p.h, p.w, p.c}, SwapInner(data, p.n, p.c, p.h * p.w))
                      : Tensor({p.n, p.c, p.h, p.w}, data);
    const HostTensor filter = Tensor({p.k, p.c, 3, 3}, weights);
    const HostTensor added = Tensor({p.k}, bias);
    program.inputs = {image.shape(), filter.shape(), added.shape()};
    ir::Program bound = BindTestProgram(program);
    std::get<ir::Input>(bound.values[bound.inputs[1]].op).is_constant = p.constant_weights;
    compiler::CompileOptions options;
    options.winograd = plan::Winograd::kAlways;
    // GPUs normally use another algorithm but can run this one.
    options.settings = TestSettings();
    options.settings.threads = 1;
    const auto list = compiler::Compile(bound, options);
    ASSERT_TRUE(list.ok()) << list.status();
    const auto compiled =
        CompiledProgram::Build(*list, TestDevice(), opencl::DialectOf(options.settings));
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const auto loaded =
        LoadedProgram::Load(*compiled, p.constant_weights ? std::vector<HostTensor>{filter}
                                                          : std::vector<HostTensor>{});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_GE((*compiled)->launches_per_run(), 3) << "it is not Winograd's algorithm";
    const auto outputs =
        (*loaded)->Run(p.constant_weights ? std::vector<HostTensor>{image, added}
                                          : std::vector<HostTensor>{image, filter, added});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    std::vector<float> actual((*outputs)[0].element_count());
    for (size_t i = 0; i < actual.size(); ++i) {
      actual[i] = static_cast<float>((*outputs)[0].GetDouble(static_cast<int64_t>(i)));
    }
    if (channels_last) {
      actual = SwapInner(actual, p.n, p.output_height() * p.output_width(), p.k);
    }
    const std::vector<double> expected = Expected(p, data, weights, bias);
    ASSERT_EQ(actual.size(), expected.size());
    double range = 0;
    double error = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      range = std::max(range, expected[i]);
      error = std::max(error, std::abs(static_cast<double>(actual[i]) - expected[i]));
    }
    EXPECT_LE(error, 1e-4 * range);
    RecordProperty("error", absl::StrCat(error / range));
  }
};

TEST_P(WinogradDeviceTest, IsExactToATenThousandthWithChannelsFirst) { Check(false); }

TEST_P(WinogradDeviceTest, IsExactToATenThousandthWithChannelsLast) { Check(true); }

INSTANTIATE_TEST_SUITE_P(ResNet50, WinogradDeviceTest,
                         testing::Values(Case{1, 64, 56, 56, 64}, Case{1, 128, 28, 28, 128},
                                         Case{1, 256, 14, 14, 256}, Case{1, 512, 7, 7, 512},
                                         Case{2, 512, 7, 7, 512}));

INSTANTIATE_TEST_SUITE_P(OddSizes, WinogradDeviceTest,
                         testing::Values(Case{1, 17, 13, 11, 19}, Case{3, 8, 5, 17, 8},
                                         Case{2, 31, 23, 7, 29, 0, 0, 0, 0},
                                         Case{1, 16, 9, 10, 24, 2, 2, 2, 2},
                                         Case{2, 9, 7, 6, 33, 0, 1, 2, 0},
                                         Case{1, 20, 4, 4, 12, 0, 0, 0, 0}, Case{2, 5, 3, 3, 7},
                                         Case{1, 3, 3, 19, 2},
                                         Case{1, 24, 12, 12, 16, 1, 1, 1, 1, false}));

}  // namespace
}  // namespace tartan::evaluator::winograd_device_test
