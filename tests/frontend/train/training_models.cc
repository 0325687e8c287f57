// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/train/training_models.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/frontend/onnx/model_text.h"

namespace tartan::train {

HostTensor Floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  return HostTensor::FromVector({DataType::kFloat32, std::move(dims)}, values);
}

std::vector<float> Numbers(size_t count, uint64_t seed) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    values.push_back(static_cast<float>(static_cast<double>(seed >> 40) / (1 << 23) - 1));
  }
  return values;
}

std::string InitializerText(const std::string& name, const std::vector<int64_t>& dims,
                            const std::vector<float>& values) {
  std::string text = absl::StrCat(" initializer { name: '", name, "' data_type: 1 ");
  for (int64_t dim : dims) absl::StrAppend(&text, "dims: ", dim, " ");
  for (float value : values) absl::StrAppend(&text, "float_data: ", value, " ");
  return text + "}";
}

std::string InitializerText(const std::string& name, const std::vector<int64_t>& dims,
                            uint64_t seed) {
  size_t count = 1;
  for (int64_t dim : dims) count *= static_cast<size_t>(dim);
  return InitializerText(name, dims, Numbers(count, seed));
}

std::string MlpText() {
  return absl::StrCat(
      "graph { name: 'mlp' ", onnx::ValueText("input", "x", 1, "N 5"), " output { name: 'y' } ",
      InitializerText("w1", {5, 8}, 1), InitializerText("b1", {8}, 2),
      InitializerText("w2", {8, 3}, 3), InitializerText("b2", {3}, 4),
      onnx::NodeText("MatMul", {"x", "w1"}, {"h0"}), onnx::NodeText("Add", {"h0", "b1"}, {"h1"}),
      onnx::NodeText("Relu", {"h1"}, {"h2"}), onnx::NodeText("MatMul", {"h2", "w2"}, {"h3"}),
      onnx::NodeText("Add", {"h3", "b2"}, {"y"}), "}");
}

HostTensor Images(int64_t count, uint64_t seed) {
  return Floats({count, 5}, Numbers(static_cast<size_t>(5 * count), seed));
}
HostTensor ClassesFor(int64_t count, uint64_t seed) {
  std::vector<int64_t> classes;
  for (const float value : Numbers(static_cast<size_t>(count), seed))
    classes.push_back(std::min<int64_t>(2, static_cast<int64_t>((value + 1) * 1.5)));
  return HostTensor::FromVector({DataType::kInt64, {count}}, classes);
}

absl::StatusOr<std::shared_ptr<const onnx::OnnxModel>> LoadToTrain(const std::string& graph) {
  const std::string bytes = onnx::ModelBytes(graph);
  onnx::LoadOptions load;
  load.parameters_as_inputs = true;
  return onnx::OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                                    "model", load);
}

void DeviceTest::SetUp() {
  static const auto* const device =
      new absl::StatusOr<std::shared_ptr<api::Device>>(api::Device::Open());
  if (!device->ok()) GTEST_SKIP() << device->status();
  device_ = **device;
}

}  // namespace tartan::train
