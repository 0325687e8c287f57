// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/autodiff/check_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::autodiff {
namespace {

absl::StatusOr<ir::Program> Bound(const std::string& code, const std::vector<TensorShape>& inputs) {
  TARTAN_ASSIGN_OR_RETURN(const lang::Function function, lang::Parse(code));
  return lang::Bind(function, inputs);
}

HostTensor RandomFloats(const TensorShape& shape, std::mt19937_64& random) {
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<double> values;
  for (int64_t i = 0; i < shape.element_count(); ++i) values.push_back(real(random));
  return HostTensor::FromVector<double>(shape, values);
}

// Returns the program's loss: the sum of its float outputs times the seeds.
double Loss(const ir::Program& program, const std::vector<HostTensor>& inputs,
            const std::vector<HostTensor>& seeds) {
  const auto outputs = ir::EvaluateNaively(program, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return 0;
  double loss = 0;
  size_t next = 0;
  for (const HostTensor& output : *outputs) {
    if (!IsFloat(output.type())) continue;
    const HostTensor& seed = seeds[next++];
    for (int64_t i = 0; i < output.element_count(); ++i) {
      loss += output.GetDouble(i) * seed.GetDouble(i);
    }
  }
  return loss;
}

double CentralDifference(const ir::Program& program, std::vector<HostTensor> inputs,
                         const std::vector<HostTensor>& seeds, size_t input, int64_t element,
                         double width) {
  const HostTensor center = inputs[input];
  double loss[2];
  for (const int side : {0, 1}) {
    std::vector<double> values = center.ToDoubles();
    values[element] += side == 0 ? -width : width;
    inputs[input] = HostTensor::FromVector<double>(center.shape(), values);
    loss[side] = Loss(program, inputs, seeds);
  }
  return (loss[1] - loss[0]) / (2 * width);
}

bool IsNear(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * (1 + std::abs(a) + std::abs(b));
}

}  // namespace

TensorShape F64(std::vector<int64_t> dims) { return {DataType::kFloat64, std::move(dims)}; }
TensorShape I64(std::vector<int64_t> dims) { return {DataType::kInt64, std::move(dims)}; }

HostTensor Doubles(std::vector<int64_t> dims, const std::vector<double>& values) {
  return HostTensor::FromVector<double>(F64(std::move(dims)), values);
}

ir::Program BindCode(const std::string& code, const std::vector<TensorShape>& inputs) {
  absl::StatusOr<ir::Program> program = Bound(code, inputs);
  EXPECT_TRUE(program.ok()) << program.status() << "\n" << code;
  return program.ok() ? *std::move(program) : ir::Program();
}

std::vector<HostTensor> DrawInputs(const GradientCase& test, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> real(test.low, test.high);
  std::uniform_int_distribution<int64_t> integer(-5, 5);
  std::vector<HostTensor> inputs;
  for (const TensorShape& shape : test.inputs) {
    std::vector<uint8_t> bytes(shape.byte_size());
    for (int64_t i = 0; i < shape.element_count(); ++i) {
      if (IsFloat(shape.type)) {
        const double value = real(random);
        StoreElement(shape.type, test.whole ? std::round(value) : value, i, bytes.data());
      } else {
        StoreElement(shape.type, integer(random), i, bytes.data());
      }
    }
    inputs.emplace_back(shape, bytes);
  }
  return inputs;
}

std::vector<HostTensor> GradientsOf(const ir::Program& program, const std::vector<int>& wrt,
                                    const std::vector<HostTensor>& inputs,
                                    const GradientOptions& options) {
  const auto gradient = Gradient(program, wrt, options);
  EXPECT_TRUE(gradient.ok()) << gradient.status();
  if (!gradient.ok()) return {};
  const auto outputs = ir::EvaluateNaively(*gradient, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status() << "\n" << ir::ToString(*gradient);
  if (!outputs.ok()) return {};
  return {outputs->begin() + static_cast<int64_t>(program.outputs.size()), outputs->end()};
}

Comparison CompareWithDifferences(const ir::Program& program, const std::vector<HostTensor>& inputs,
                                  const GradientOptions& options) {
  std::vector<int> wrt;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (IsFloat(inputs[i].type())) wrt.push_back(static_cast<int>(i));
  }
  std::mt19937_64 random(7);
  std::vector<HostTensor> seeds;
  for (const ir::ValueId output : program.outputs) {
    const TensorShape& shape = program.values[output].shape;
    if (IsFloat(shape.type)) seeds.push_back(RandomFloats(shape, random));
  }
  GradientOptions seeded = options;
  seeded.seeded = true;
  std::vector<HostTensor> with_seeds = inputs;
  with_seeds.insert(with_seeds.end(), seeds.begin(), seeds.end());
  const std::vector<HostTensor> actual = GradientsOf(program, wrt, with_seeds, seeded);
  Comparison result;
  if (actual.size() != wrt.size()) return {"there are no gradients", 0, 0};
  for (size_t w = 0; w < wrt.size(); ++w) {
    const HostTensor& input = inputs[wrt[w]];
    if (actual[w].shape() != input.shape()) return {"a shape differs", 0, 0};
    for (int64_t i = 0; i < input.element_count(); ++i) {
      const double wide = CentralDifference(program, inputs, seeds, wrt[w], i, 1e-4);
      const double narrow = CentralDifference(program, inputs, seeds, wrt[w], i, 1e-5);
      if (!IsNear(wide, narrow, 1e-5)) {
        ++result.skipped;
        continue;
      }
      ++result.compared;
      if (result.difference.empty() && !IsNear(actual[w].GetDouble(i), narrow, 1e-6)) {
        result.difference =
            absl::StrCat("the gradient by element ", i, " of input ", wrt[w], " is ",
                         actual[w].GetDouble(i), ", differences give ", narrow, " and ", wide);
      }
    }
  }
  return result;
}

void ExpectGradientEqualsDifferences(const GradientCase& test, const GradientOptions& options) {
  const ir::Program program = BindCode(test.code, test.inputs);
  if (program.values.empty()) return;
  const Comparison result = CompareWithDifferences(program, DrawInputs(test, 1), options);
  EXPECT_EQ(result.difference, "") << test.code;
  EXPECT_GT(result.compared, 0);
  EXPECT_LE(result.skipped * 10, result.compared) << test.code;
}

}  // namespace tartan::autodiff
