// SPDX-License-Identifier: Apache-2.0
// What tests of training share: small models as text, their numbers, a device.
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

// In [-1, 1), the same for a seed everywhere.
std::vector<float> Numbers(size_t count, uint64_t seed);

// A field of a graph; `values` in row-major order.
std::string InitializerText(const std::string& name, const std::vector<int64_t>& dims,
                            const std::vector<float>& values);
// With numbers of a seed.
std::string InitializerText(const std::string& name, const std::vector<int64_t>& dims,
                            uint64_t seed);

// 5 inputs, a hidden layer of 8 and 3 classes, with parameters w1, b1, w2, b2; input x, output y.
std::string MlpText();
// What it is trained on: [count, 5], and numbers of classes.
HostTensor Images(int64_t count, uint64_t seed);
HostTensor ClassesFor(int64_t count, uint64_t seed);

// The model of a graph's text (tests/frontend/onnx/model_text.h), its parameters inputs.
absl::StatusOr<std::shared_ptr<const onnx::OnnxModel>> LoadToTrain(const std::string& graph);

// Tests on the default device, which is opened once; skipped where there is none.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override;

  std::shared_ptr<api::Device> device_;
};

}  // namespace tartan::train
