// SPDX-License-Identifier: Apache-2.0
// Models written as text, run on a device and by the definition of Tile, for tests of numbers out
// of range.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/session.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::onnx {

// Types of elements in ONNX.
constexpr int kFloat = 1;
constexpr int kInt8 = 3;
constexpr int kInt32 = 6;
constexpr int kInt64 = 7;

using InputValues = std::map<std::string, HostTensor>;
using Results = absl::StatusOr<std::vector<HostTensor>>;

HostTensor Ints(std::vector<int64_t> dims, const std::vector<int64_t>& values);
HostTensor Ints32(std::vector<int64_t> dims, const std::vector<int32_t>& values);
// 1, 2, 3 …
HostTensor Counting(std::vector<int64_t> dims);

// The default one, opened once; null where there is none.
std::shared_ptr<api::Device> TestDevice();

// Parts of a model's text, beside those of model_text.h.
std::string Node(const std::string& name, const std::string& op,
                 const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const std::string& rest = "");
std::string FloatInput(const std::string& name, const std::string& dims);
std::string Output(const std::string& name);
std::string IntConstant(const std::string& name, int64_t value);
std::string CastToInts(const std::string& from, const std::string& to);

// Null, with a failure of the test, where it does not load.
std::shared_ptr<const OnnxModel> LoadModel(const std::string& text, int opset);

// Twice, on TestDevice(), with the same status, and once by the host where that is little work,
// which gives the same. `statistics` are of the first run.
Results RunOnDevice(const std::shared_ptr<const OnnxModel>& model, const InputValues& inputs,
                    bool unchecked = false, api::RunStatistics* statistics = nullptr);
// By the definition of Tile, for models that ask nothing.
Results RunByDefinition(const OnnxModel& model, const InputValues& inputs);

}  // namespace tartan::onnx
