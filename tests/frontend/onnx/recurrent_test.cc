// SPDX-License-Identifier: Apache-2.0
// Tests of RNN, GRU and LSTM beyond the official cases.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/operator_results.h"

namespace tartan::onnx::recurrent_test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Lstm, MultipliesTheOutputGateWithAllOfAnAffineActivation) {
  const std::vector<double> y = Evaluate(
      {"LSTM",
       14,
       {Values({1, 1, 1}, {0.5}), Values({1, 4, 1}, {1, 1, 1, 1}), Values({1, 4, 1}, {0, 0, 0, 0})},
       Attribute("hidden_size", int64_t{1}) +
           "attribute { name: 'activations' type: STRINGS"
           " strings: 'Sigmoid' strings: 'Tanh' strings: 'Affine' }"
           "attribute { name: 'activation_alpha' type: FLOATS floats: 0.5 }"
           "attribute { name: 'activation_beta' type: FLOATS floats: 2 }"});
  const double gate = Sigmoid(0.5);
  const double cell = gate * std::tanh(0.5);
  EXPECT_THAT(y, ElementsAre(DoubleNear(gate * (0.5 * cell + 2), 1e-5)));
}

}  // namespace
}  // namespace tartan::onnx::recurrent_test
