// SPDX-License-Identifier: Apache-2.0
// Runs models written as text on a device and with the naive evaluator, for tests of out-of-range
// values.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/session.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::onnx {

// Element types, as in TensorProto.DataType.
constexpr int kFloat = 1;
constexpr int kInt8 = 3;
constexpr int kInt32 = 6;
constexpr int kInt64 = 7;

using InputValues = std::map<std::string, HostTensor>;
using Results = absl::StatusOr<std::vector<HostTensor>>;

HostTensor Ints(std::vector<int64_t> dims, const std::vector<int64_t>& values);
HostTensor Ints32(std::vector<int64_t> dims, const std::vector<int32_t>& values);
// A float tensor with the elements 1, 2, 3 …
HostTensor Counting(std::vector<int64_t> dims);

// The default device, opened once; null without one.
std::shared_ptr<api::Device> TestDevice();

// Parts of a model's text, in addition to model_text.h.
std::string Node(const std::string& name, const std::string& op,
                 const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const std::string& rest = "");
std::string FloatInput(const std::string& name, const std::string& dims);
std::string Output(const std::string& name);
std::string IntConstant(const std::string& name, int64_t value);
std::string CastToInts(const std::string& from, const std::string& to);

// Loads the model; null and a test failure when it does not load.
std::shared_ptr<const OnnxModel> LoadModel(const std::string& text, int opset);

// Runs the model twice on TestDevice() and expects the same status. When the model is small enough
// for the host, also runs it there and expects the same results. `statistics` describe the first
// run.
Results RunOnDevice(const std::shared_ptr<const OnnxModel>& model, const InputValues& inputs,
                    bool unchecked = false, api::RunStatistics* statistics = nullptr);
// Evaluates models that request no values with the naive evaluator.
Results RunByDefinition(const OnnxModel& model, const InputValues& inputs);

}  // namespace tartan::onnx
