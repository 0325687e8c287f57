// SPDX-License-Identifier: Apache-2.0
// Returns the results of operators and fails the test when there are none.
#pragma once

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx {

// Output `i`; an empty tensor and a test failure when the operator cannot be run.
inline HostTensor EvaluateTensor(const OperatorCall& call, size_t i = 0) {
  const auto outputs = RunOperator(call);
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status();
    return Values({0}, {});
  }
  return outputs->at(i);
}

// The elements of output `i`.
inline std::vector<double> Evaluate(const OperatorCall& call, size_t i = 0) {
  return EvaluateTensor(call, i).ToDoubles();
}

inline void ExpectNear(const HostTensor& actual, const std::vector<double>& expected) {
  const std::vector<double> values = actual.ToDoubles();
  ASSERT_EQ(values.size(), expected.size()) << actual.shape();
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], 1e-5) << "element " << i;
  }
}

}  // namespace tartan::onnx
