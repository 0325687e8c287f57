// SPDX-License-Identifier: Apache-2.0
// Compares the Tile text of problems with explicit loops, and gradients with finite differences.
#include "frontend/bench/workload.h"

#include <cmath>
#include <functional>

#include "frontend/bench/parse_problem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tile/base/status_macros.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::bench {
namespace {

Problem Parse(const std::string& spec) {
  absl::StatusOr<Problem> problem = ParseProblem(spec);
  EXPECT_TRUE(problem.ok()) << problem.status();
  return problem.ok() ? *std::move(problem) : Problem();
}

// Output 0 of the program for `workload`, from the naive evaluator.
absl::StatusOr<HostTensor> Evaluate(const Workload& workload,
                                    const std::vector<HostTensor>& values) {
  TARTAN_ASSIGN_OR_RETURN(const WorkloadProgram made, MakeProgram(workload, "test"));
  TARTAN_ASSIGN_OR_RETURN(const lang::Function function, lang::Parse(made.program.code()));
  std::vector<TensorShape> shapes;
  for (const WorkloadInput& input : made.inputs) shapes.push_back(input.shape);
  TARTAN_ASSIGN_OR_RETURN(const ir::Program program, lang::Bind(function, shapes));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> outputs,
                          ir::EvaluateNaively(program, values));
  return outputs[0];
}

std::vector<HostTensor> ValuesFor(const Workload& workload) {
  const absl::StatusOr<WorkloadProgram> made = MakeProgram(workload, "test");
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? RandomValues(made->inputs) : std::vector<HostTensor>();
}

void ExpectNear(const HostTensor& actual, const std::vector<double>& expected,
                double tolerance = 1e-5) {
  ASSERT_EQ(actual.element_count(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual.GetDouble(static_cast<int64_t>(i)), expected[i], tolerance) << "at " << i;
  }
}

TEST(MakeWorkload, MultipliesMatrices) {
  const Workload work = MakeWorkload(Parse("matmul:b2m3n4k5"));
  const std::vector<HostTensor> values = ValuesFor(work);
  std::vector<double> expected;
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 4; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < 5; ++k) {
          sum +=
              values[0].GetDouble((b * 3 + i) * 5 + k) * values[1].GetDouble((b * 5 + k) * 4 + j);
        }
        expected.push_back(sum);
      }
    }
  }
  const auto output = Evaluate(work, values);
  ASSERT_TRUE(output.ok()) << output.status();
  ExpectNear(*output, expected);
}

// An element's position in the layout; `Position` serves reads and writes.
struct Layout {
  const ConvolutionProblem& p;
  int64_t channels, height, width;
  int64_t Position(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return p.channels_last ? ((n * height + y) * width + x) * channels + c
                           : ((n * channels + c) * height + y) * width + x;
  }
};

double ConvolveAt(const ConvolutionProblem& p, const std::vector<HostTensor>& values, int64_t n,
                  int64_t co, int64_t y, int64_t x) {
  const Layout data = {p, p.channels, p.height, p.width};
  const int64_t group_channels = p.channels / p.groups;
  const int64_t group = co / (p.outputs / p.groups);
  double sum = 0;
  for (int64_t ci = 0; ci < group_channels; ++ci) {
    for (int64_t r = 0; r < p.kernel; ++r) {
      for (int64_t s = 0; s < p.kernel; ++s) {
        const int64_t iy = y * p.stride + r * p.dilation - p.padding;
        const int64_t ix = x * p.stride + s * p.dilation - p.padding;
        if (iy < 0 || iy >= p.height || ix < 0 || ix >= p.width) continue;
        sum += values[0].GetDouble(data.Position(n, group * group_channels + ci, iy, ix)) *
               values[1].GetDouble(((co * group_channels + ci) * p.kernel + r) * p.kernel + s);
      }
    }
  }
  return sum;
}

TEST(MakeWorkload, Convolves) {
  for (const char* spec : {"conv:n2c3h6w5k4r3", "conv:n1c3h7w6k4r3s2p1", "conv:n1c4h9w9k6r3p2d2g2",
                           "conv:n1c4h6w6k4r3p1g4", "conv:n1c2h6w6k4r3p1g2:nhwc",
                           "conv:n2c4h5w5k6r1:nhwc", "conv:n1c6h5w5k3r3s1p1g3"}) {
    SCOPED_TRACE(spec);
    const Problem problem = Parse(spec);
    const auto& p = std::get<ConvolutionProblem>(problem.op);
    const Workload work = MakeWorkload(problem);
    const std::vector<HostTensor> values = ValuesFor(work);
    const Layout output = {p, p.outputs, p.output_height(), p.output_width()};
    std::vector<double> expected(static_cast<size_t>(work.output.element_count()));
    for (int64_t n = 0; n < p.batch; ++n) {
      for (int64_t co = 0; co < p.outputs; ++co) {
        for (int64_t y = 0; y < output.height; ++y) {
          for (int64_t x = 0; x < output.width; ++x) {
            expected[output.Position(n, co, y, x)] = ConvolveAt(p, values, n, co, y, x);
          }
        }
      }
    }
    const auto result = Evaluate(work, values);
    ASSERT_TRUE(result.ok()) << result.status();
    ExpectNear(*result, expected);
  }
}

TEST(MakeWorkload, PoolsWindows) {
  for (const char* spec : {"pool:max:n1c2h7w6r3s2p1", "pool:avg:n1c2h7w6r3s2p1"}) {
    SCOPED_TRACE(spec);
    const Problem problem = Parse(spec);
    const auto& p = std::get<PoolProblem>(problem.op);
    const Workload work = MakeWorkload(problem);
    const std::vector<HostTensor> values = ValuesFor(work);
    std::vector<double> expected;
    for (int64_t c = 0; c < p.channels; ++c) {
      for (int64_t y = 0; y < p.output_height(); ++y) {
        for (int64_t x = 0; x < p.output_width(); ++x) {
          double max = -INFINITY, sum = 0;
          for (int64_t t = 0; t < p.kernel * p.kernel; ++t) {
            const int64_t iy = y * p.stride + t / p.kernel - p.padding;
            const int64_t ix = x * p.stride + t % p.kernel - p.padding;
            if (iy < 0 || iy >= p.height || ix < 0 || ix >= p.width) continue;
            const double value = values[0].GetDouble((c * p.height + iy) * p.width + ix);
            max = std::max(max, value);
            sum += value;
          }
          expected.push_back(p.kind == PoolKind::kMax ? max : sum / (p.kernel * p.kernel));
        }
      }
    }
    const auto result = Evaluate(work, values);
    ASSERT_TRUE(result.ok()) << result.status();
    ExpectNear(*result, expected);
  }
}

TEST(MakeWorkload, NormalisesRows) {
  const Workload softmax = MakeWorkload(Parse("softmax:3x5"));
  const std::vector<HostTensor> values = ValuesFor(softmax);
  std::vector<double> expected(15);
  for (int64_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < 5; ++i) sum += std::exp(values[0].GetDouble(row * 5 + i));
    for (int64_t i = 0; i < 5; ++i) {
      expected[row * 5 + i] = std::exp(values[0].GetDouble(row * 5 + i)) / sum;
    }
  }
  auto result = Evaluate(softmax, values);
  ASSERT_TRUE(result.ok()) << result.status();
  ExpectNear(*result, expected);

  const Workload norm = MakeWorkload(Parse("layernorm:1x4"));
  const TensorShape row{DataType::kFloat32, {4}};
  result =
      Evaluate(norm, {HostTensor::FromVector(norm.inputs[0].shape, std::vector<float>{1, 3, 1, 3}),
                      HostTensor::FromVector(row, std::vector<float>{1, 1, 2, 2}),
                      HostTensor::FromVector(row, std::vector<float>{0, 0, 0, 5})});
  ASSERT_TRUE(result.ok()) << result.status();
  ExpectNear(*result, {-1, 1, -2, 7}, 1e-4);
}

TEST(MakeWorkload, MovesElements) {
  const Workload transpose = MakeWorkload(Parse("transpose:2x3x4:201"));
  EXPECT_EQ(transpose.output.ToString(), "float32[4, 2, 3]");
  std::vector<HostTensor> values = ValuesFor(transpose);
  auto result = Evaluate(transpose, values);
  ASSERT_TRUE(result.ok()) << result.status();
  // The permutation O[c, a, b] = X[a, b, c].
  EXPECT_EQ(result->GetDouble((1 * 2 + 1) * 3 + 2), values[0].GetDouble((1 * 3 + 2) * 4 + 1));

  const Workload gather = MakeWorkload(Parse("gather:5x3:axis0:i4"));
  values = ValuesFor(gather);
  result = Evaluate(gather, values);
  ASSERT_TRUE(result.ok()) << result.status();
  const int64_t position = values[1].GetInt(2);
  EXPECT_EQ(result->GetDouble(2 * 3 + 1), values[0].GetDouble(position * 3 + 1));

  const Workload reduce = MakeWorkload(Parse("reduce:mean:2x3x2:axis1"));
  values = ValuesFor(reduce);
  result = Evaluate(reduce, values);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(result->GetDouble(1),
              (values[0].GetDouble(1) + values[0].GetDouble(3) + values[0].GetDouble(5)) / 3, 1e-6);
}

double Dot(const HostTensor& a, const HostTensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.element_count(); ++i) sum += a.GetDouble(i) * b.GetDouble(i);
  return sum;
}

// `values` with the input changed by `step` along `direction`.
std::vector<HostTensor> Moved(std::vector<HostTensor> values, size_t input,
                              const HostTensor& direction, double step) {
  std::vector<float> moved;
  for (int64_t i = 0; i < direction.element_count(); ++i) {
    moved.push_back(static_cast<float>(values[input].GetDouble(i) + step * direction.GetDouble(i)));
  }
  values[input] = HostTensor::FromVector(values[input].shape(), moved);
  return values;
}

TEST(MakeProgram, GradientsAreThoseOfDifferences) {
  for (const char* spec :
       {"matmul:m3n4k5:bwd_data", "matmul:m3n4k5:bwd_weights", "matmul:b2m3n2k2:bwd_weights",
        "conv:n1c2h6w5k4r3s2p1:bwd_data", "conv:n1c2h6w5k4r3s2p1:bwd_weights",
        "conv:n1c4h5w5k4r3p1g4:bwd_data", "conv:n1c2h5w5k4r3p1:nhwc:bwd_weights",
        "pool:avg:n1c2h6w6r2s2:bwd_data", "pool:max:n1c2h6w6r2s2:bwd_data",
        "reduce:sum:3x4:axis0:bwd_data", "softmax:3x5:bwd_data", "layernorm:3x8:bwd_data",
        "layernorm:3x8:bwd_weights", "transpose:2x3x4:201:bwd_data", "eltwise:gelu:16:bwd_data",
        "eltwise:chain:16:bwd_data", "gather:5x3:axis0:i4:bwd_data", "sort:3x4:axis1:bwd_data"}) {
    SCOPED_TRACE(spec);
    const Workload gradient_work = MakeWorkload(Parse(spec));
    const std::vector<HostTensor> values = ValuesFor(gradient_work);
    const auto gradient = Evaluate(gradient_work, values);
    ASSERT_TRUE(gradient.ok()) << gradient.status();

    Workload forward = gradient_work;
    forward.gradient_of = -1;
    const HostTensor& seed = values.back();
    const std::vector<HostTensor> inputs(values.begin(), values.end() - 1);
    const auto input = static_cast<size_t>(gradient_work.gradient_of);
    const HostTensor direction = RandomValues({{forward.inputs[input], forward.inputs[input]}})[1];
    const double step = 1e-3;
    const auto above = Evaluate(forward, Moved(inputs, input, direction, step));
    const auto below = Evaluate(forward, Moved(inputs, input, direction, -step));
    ASSERT_TRUE(above.ok()) << above.status();
    ASSERT_TRUE(below.ok()) << below.status();
    const double expected = (Dot(*above, seed) - Dot(*below, seed)) / (2 * step);
    EXPECT_NEAR(Dot(*gradient, direction), expected, 2e-3 * (1 + std::abs(expected)));
  }
}

}  // namespace
}  // namespace tartan::bench
