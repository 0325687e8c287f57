// SPDX-License-Identifier: Apache-2.0
// Fixtures of the training tests: small models as text, their data, and a device.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/device.h"
#include "frontend/onnx/model/onnx_model.h"
#include "tile/base/host_tensor.h"

namespace tartan::train {

HostTensor Floats(std::vector<int64_t> dims, const std::vector<float>& values);

// Pseudo-random numbers in [-1, 1); a seed gives the same numbers on every machine.
std::vector<float> Numbers(size_t count, uint64_t seed);

// The protobuf text of an initializer; `values` are in row-major order.
std::string InitializerText(const std::string& name, const std::vector<int64_t>& dims,
                            const std::vector<float>& values);
// The same with pseudo-random values from `seed`.
std::string InitializerText(const std::string& name, const std::vector<int64_t>& dims,
                            uint64_t seed);

// A network of 5 inputs, a hidden layer of 8 and 3 classes. Input x, output y, parameters w1, b1,
// w2, b2.
std::string MlpText();
// Training data of that network: inputs [count, 5], and class indices.
HostTensor Images(int64_t count, uint64_t seed);
HostTensor ClassesFor(int64_t count, uint64_t seed);

// Loads the model of a graph's text (tests/frontend/onnx/model_text.h) with its parameters as
// inputs.
absl::StatusOr<std::shared_ptr<const onnx::OnnxModel>> LoadToTrain(const std::string& graph);

// A test on the default device, which is opened once per process. Skips the test without a device.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override;

  std::shared_ptr<api::Device> device_;
};

}  // namespace tartan::train
