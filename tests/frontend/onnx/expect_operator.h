// SPDX-License-Identifier: Apache-2.0
// What an operator gives, for tests: failures are those of the test.
#pragma once

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx {

// Output `i` of a call that must succeed.
inline HostTensor Evaluate(const OperatorCall& call, size_t i = 0) {
  const auto outputs = RunOperator(call);
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status();
    return Values({0}, {});
  }
  return outputs->at(i);
}

// Empty where it succeeds.
inline std::string Error(const OperatorCall& call) {
  return std::string(RunOperator(call).status().message());
}

inline void ExpectNear(const HostTensor& actual, const std::vector<double>& expected) {
  const std::vector<double> values = actual.ToDoubles();
  ASSERT_EQ(values.size(), expected.size()) << actual.shape();
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_THAT(values[i], ::testing::DoubleNear(expected[i], 1e-5)) << "element " << i;
  }
}

}  // namespace tartan::onnx
