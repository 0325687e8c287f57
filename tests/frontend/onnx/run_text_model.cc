// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/onnx/run_text_model.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontend/api/composer.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/model_text.h"
#include "tests/frontend/onnx/run_operator.h"

namespace tartan::onnx {

HostTensor Ints(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kInt64, std::move(dims)}, values);
}

HostTensor Ints32(std::vector<int64_t> dims, const std::vector<int32_t>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kInt32, std::move(dims)}, values);
}

HostTensor Counting(std::vector<int64_t> dims) {
  const TensorShape shape{DataType::kFloat32, std::move(dims)};
  std::vector<float> values;
  for (int64_t i = 0; i < shape.element_count(); ++i) values.push_back(static_cast<float>(i + 1));
  return HostTensor::FromVector(shape, values);
}

std::shared_ptr<api::Device> TestDevice() {
  static const auto* const device = [] {
    auto opened = api::Device::Open();
    return new std::shared_ptr<api::Device>(opened.ok() ? *opened : nullptr);
  }();
  return *device;
}

std::string Node(const std::string& name, const std::string& op,
                 const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const std::string& rest) {
  std::string text = absl::StrCat(" node { name: '", name, "' op_type: '", op, "'");
  for (const std::string& input : inputs) absl::StrAppend(&text, " input: '", input, "'");
  for (const std::string& output : outputs) absl::StrAppend(&text, " output: '", output, "'");
  return absl::StrCat(text, " ", rest, " } ");
}

std::string Output(const std::string& name) {
  return absl::StrCat(" output { name: '", name, "' } ");
}

std::string IntConstant(const std::string& name, int64_t value) {
  return absl::StrCat(" initializer { name: '", name, "' data_type: 7 int64_data: ", value, " } ");
}

std::shared_ptr<const OnnxModel> LoadModel(const std::string& text, int opset) {
  const std::string bytes = ModelBytes(text, opset);
  const auto model =
      OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "m");
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *model : nullptr;
}

// Runs the model on the host, which computes small models while no kernels are compiled.
static Results RunOnHost(const std::shared_ptr<const OnnxModel>& model, const InputValues& inputs,
                         bool unchecked) {
  static const auto* const device = [] {
    api::DeviceOptions options;
    options.use_disk_cache = false;  // exact kernels on disk would be used instead
    auto opened = api::Device::Open("", options);
    return new std::shared_ptr<api::Device>(opened.ok() ? *opened : nullptr);
  }();
  api::SessionOptions options;
  options.unchecked = unchecked;
  options.exact_after_runs = 0;
  options.host_ms = 1000;
  auto session = api::Session::Create(model, *device, options);
  if (!session.ok()) return session.status();
  return (*session)->Run(inputs);
}

static void ExpectSame(const Results& host, const Results& device) {
  ASSERT_EQ(host.status(), device.status());
  for (size_t o = 0; host.ok() && o < host->size(); ++o) {
    EXPECT_EQ((*host)[o].shape(), (*device)[o].shape());
    const std::vector<double> values = (*host)[o].ToDoubles();
    for (size_t i = 0; i < values.size(); ++i) {
      const double other = (*device)[o].GetDouble(static_cast<int64_t>(i));
      EXPECT_TRUE(values[i] == other || std::abs(values[i] - other) <= 1e-5 * std::abs(other) ||
                  (std::isnan(values[i]) && std::isnan(other)))
          << "element " << i << " of output " << o << " is " << values[i] << " on the host, "
          << other << " on the device";
    }
  }
}

Results RunOnDevice(const std::shared_ptr<const OnnxModel>& model, const InputValues& inputs,
                    bool unchecked, api::RunStatistics* statistics) {
  api::SessionOptions options;
  options.unchecked = unchecked;
  options.tier = api::Tier::kExact;
  auto session = api::Session::Create(model, TestDevice(), options);
  if (!session.ok()) return session.status();
  const Results results = (*session)->Run(inputs, statistics);
  // This run reuses the frame of the first one, which may have failed.
  const Results again = (*session)->Run(inputs);
  EXPECT_EQ(again.status(), results.status());
  // An unchecked read at an index out of range returns an arbitrary element.
  if (!unchecked) ExpectSame(RunOnHost(model, inputs, unchecked), results);
  return results;
}

Results RunByDefinition(const OnnxModel& model, const InputValues& inputs) {
  std::vector<api::InputBinding> bindings;
  std::vector<api::HostValue> values;
  values.reserve(model.inputs().size());
  for (const api::TensorSpec& spec : model.inputs()) {
    values.emplace_back(inputs.at(spec.name));
    bindings.emplace_back().shape = inputs.at(spec.name).shape();
  }
  auto bound = model.Bind(bindings);
  if (bound.ok() && !bound->needed_values.empty()) {
    for (const int input : bound->needed_values) {
      bindings[static_cast<size_t>(input)].value = &values[static_cast<size_t>(input)];
    }
    bound = model.Bind(bindings);
  }
  if (!bound.ok()) return bound.status();
  std::vector<api::Tensor> placeholders;
  std::vector<HostTensor> given;
  for (size_t i = 0; i < bound->placeholders.size(); ++i) {
    if (!bound->placeholders[i].defined()) continue;
    placeholders.push_back(bound->placeholders[i]);
    given.push_back(values[i].tensor());
  }
  std::vector<api::Tensor> outputs;
  for (const api::Value& output : bound->outputs) api::AppendTensors(output, &outputs);
  return api::EvaluateReference(placeholders, given, outputs, int64_t{1} << 26);
}

std::string FloatInput(const std::string& name, const std::string& dims) {
  return ValueText("input", name, kFloat, dims);
}

std::string CastToInts(const std::string& from, const std::string& to) {
  return Node(to, "Cast", {from}, {to}, Attribute("to", int64_t{kInt64}));
}

}  // namespace tartan::onnx
