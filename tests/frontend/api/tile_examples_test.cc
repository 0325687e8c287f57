// SPDX-License-Identifier: Apache-2.0
// Runs each file of examples/tile with its gradients by all inputs on the device and compares with
// the naive evaluator. Compares the gradients in float64 with central differences.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/api/composer.h"
#include "frontend/api/gradient.h"
#include "frontend/api/invoker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tile/compiler/programs.h"
#include "tests/tile/lang/tile_text.h"

namespace tartan::api {
namespace {

constexpr int64_t kMaxPoints = int64_t{1} << 28;

struct Example {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;  // the function's results, then one gradient per input
  size_t results = 0;           // number of results of the function
};

// Adds the gradients of the sum of all elements of the float outputs.
absl::StatusOr<Example> Differentiate(const Function& function,
                                      const std::vector<TensorShape>& shapes) {
  Example example;
  for (size_t i = 0; i < shapes.size(); ++i) {
    example.inputs.push_back(Tensor::Placeholder(function.input_names()[i], shapes[i]));
  }
  auto results = function.Apply(example.inputs);
  if (!results.ok()) return results.status();
  std::vector<SeededTensor> losses;
  for (const Tensor& result : *results) {
    if (IsFloat(result.type())) losses.push_back({result, Filled(result.shape(), 1).value()});
  }
  auto gradients = Gradient(losses, example.inputs);
  if (!gradients.ok()) return gradients.status();
  example.results = results->size();
  example.outputs = *std::move(results);
  example.outputs.insert(example.outputs.end(), gradients->begin(), gradients->end());
  return example;
}

std::vector<HostTensor> Evaluate(const Example& example, const std::vector<HostTensor>& inputs,
                                 size_t outputs) {
  auto results = EvaluateReference(example.inputs, inputs,
                                   absl::MakeConstSpan(example.outputs).first(outputs), kMaxPoints);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? *results : std::vector<HostTensor>();
}

// Inputs in [0.5, 2], where logarithms, roots and quotients are smooth.
std::vector<HostTensor> PositiveInputs(const std::vector<TensorShape>& shapes) {
  TestProgram program;
  program.inputs = shapes;
  program.low = 0.5;
  program.high = 2;
  return RandomInputs(program, 23);
}

bool HasGivenGradient(const Function& function) {
  return function.text().find("_gradient(") != std::string::npos;
}

// Makes all sizes odd; equal sizes stay equal.
std::vector<TensorShape> OddShapes(std::vector<TensorShape> shapes) {
  for (TensorShape& shape : shapes) {
    for (int64_t& dim : shape.dims) dim = 2 * dim + 1;
  }
  return shapes;
}

HostTensor Moved(const HostTensor& tensor, int64_t element, double by) {
  std::vector<double> values = tensor.ToDoubles();
  values[static_cast<size_t>(element)] += by;
  return HostTensor::FromVector(tensor.shape(), values);
}

double Loss(const Example& example, const std::vector<HostTensor>& inputs) {
  double loss = 0;
  for (const HostTensor& output : Evaluate(example, inputs, example.results)) {
    if (!IsFloat(output.type())) continue;
    for (const double element : output.ToDoubles()) loss += element;
  }
  return loss;
}

TEST(TileExamples, GradientsOnTheDeviceEqualTheNaiveOnesOnOddSizes) {
  const auto device = Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  int odd = 0;
  int compared = 0;
  for (const std::string& path : lang::TileFiles("examples/tile")) {
    SCOPED_TRACE(path);
    const auto parsed = Function::FromFile(path);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const Function& function = *parsed;
    std::vector<TensorShape> shapes = lang::HeaderShapes(function.text());
    auto example = Differentiate(function, OddShapes(shapes));
    if (example.ok()) {
      shapes = OddShapes(shapes);
      ++odd;
    } else {
      example = Differentiate(function, shapes);  // the text requires the declared sizes
    }
    ASSERT_TRUE(example.ok()) << example.status();
    const std::vector<HostTensor> inputs = PositiveInputs(shapes);
    std::vector<NamedTensor> named_inputs;
    std::vector<NamedTensor> named_outputs;
    NamedTensors values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      named_inputs.push_back({absl::StrCat(i), example->inputs[i]});
      values[absl::StrCat(i)] = inputs[i];
    }
    for (size_t o = 0; o < example->outputs.size(); ++o) {
      named_outputs.push_back({absl::StrCat(o), example->outputs[o]});
    }
    const auto invoker = Invoker::Create(*device, named_inputs, named_outputs, path);
    ASSERT_TRUE(invoker.ok()) << invoker.status();
    const auto actual = invoker->Run(values);
    ASSERT_TRUE(actual.ok()) << actual.status();
    const std::vector<HostTensor> expected = Evaluate(*example, inputs, example->outputs.size());
    ASSERT_EQ(expected.size(), actual->size());
    for (size_t o = 0; o < expected.size(); ++o) {
      EXPECT_EQ(FirstDifference(actual->at(absl::StrCat(o)), expected[o], 2e-5), "")
          << (o < example->results ? "output " : "gradient ") << o;
      ++compared;
    }
  }
  EXPECT_GE(odd, 24);
  EXPECT_GE(compared, 80);
}

TEST(TileExamples, GradientsEqualCentralDifferencesInFloat64) {
  constexpr double kStep = 1e-5;
  int64_t compared = 0;
  for (const std::string& path : lang::TileFiles("examples/tile")) {
    SCOPED_TRACE(path);
    const auto parsed = Function::FromFile(path);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const Function& function = *parsed;
    // such a gradient differs from the derivative on purpose
    if (HasGivenGradient(function)) continue;
    std::vector<TensorShape> shapes = lang::HeaderShapes(function.text());
    for (TensorShape& shape : shapes) shape.type = DataType::kFloat64;
    const auto example = Differentiate(function, shapes);
    ASSERT_TRUE(example.ok()) << example.status();
    const std::vector<HostTensor> inputs = PositiveInputs(shapes);
    const std::vector<HostTensor> outputs = Evaluate(*example, inputs, example->outputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const HostTensor& gradient = outputs[example->results + i];
      // Checks a sample of the elements of large inputs.
      const int64_t stride = inputs[i].element_count() / 50 + 1;
      for (int64_t element = 0; element < inputs[i].element_count(); element += stride) {
        std::vector<HostTensor> above = inputs;
        std::vector<HostTensor> below = inputs;
        above[i] = Moved(inputs[i], element, kStep);
        below[i] = Moved(inputs[i], element, -kStep);
        const double difference = (Loss(*example, above) - Loss(*example, below)) / (2 * kStep);
        EXPECT_NEAR(gradient.GetDouble(element), difference, 1e-6 * (1 + std::abs(difference)))
            << "input " << i << ", element " << element;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 350);
}

}  // namespace
}  // namespace tartan::api
