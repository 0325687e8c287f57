// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/train/training_curves.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tartan::train {
namespace {

// Pseudo-random numbers in [-1, 1) seeded by a name, as generated() of scripts/training_networks.py
// makes them.
std::vector<double> Generated(const std::string& name, int64_t count) {
  uint64_t seed = 0xcbf29ce484222325;
  for (const char byte : name) seed = (seed ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    seed += 0x9e3779b97f4a7c15;
    uint64_t z = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    values.push_back(static_cast<double>(z >> 40) / (1 << 23) - 1);
  }
  return values;
}

// Makes a tensor or one batch from "float SCALE CENTER", "keep SHARE" or "below LIMIT".
HostTensor Made(const std::string& source, const std::string& name, std::vector<int64_t> dims) {
  std::istringstream stream(source);
  std::string kind;
  double first = 0;
  double center = 0;
  stream >> kind >> first >> center;
  const TensorShape shape{DataType::kFloat32, std::move(dims)};
  const std::vector<double> unit = Generated(name, shape.element_count());
  if (kind == "below") {
    std::vector<int64_t> whole;
    for (const double u : unit) whole.push_back(static_cast<int64_t>((u + 1) / 2 * first));
    return HostTensor::FromVector({DataType::kInt64, shape.dims}, whole);
  }
  std::vector<float> values;
  for (const double u : unit) {
    const double kept = (u + 1) / 2 < first ? 1 / first : 0;
    // Scales are float32 values, so the multiplication is exact in double.
    values.push_back(static_cast<float>(kind == "keep" ? kept : center + first * u));
  }
  return HostTensor::FromVector(shape, values);
}

std::string ReadFile(const std::string& name) {
  const char* root = std::getenv("TARTAN_SOURCE_DIR");
  const std::string path =
      absl::StrCat(root == nullptr ? "." : root, "/tests/frontend/train/curves/", name);
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Curves ReadCurves(const std::string& network) {
  Curves curves;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(ReadFile(network + ".graph.txt"),
                                                            &curves.graph));
  for (onnx::TensorProto& tensor : *curves.graph.mutable_graph()->mutable_initializer()) {
    if (tensor.doc_string().empty()) continue;
    const HostTensor made = Made(tensor.doc_string(), tensor.name(),
                                 std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end()));
    for (int64_t i = 0; i < made.shape().element_count(); ++i) {
      tensor.add_float_data(static_cast<float>(made.GetDouble(i)));
    }
  }
  std::istringstream text(ReadFile(network + ".curves.txt"));
  Curves::Run* run = nullptr;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "batches") {
      words >> curves.batches;
    } else if (word == "target") {
      words >> curves.classes;
      for (int64_t dim = 0; words >> dim;) curves.target.push_back(dim);
    } else if (word == "run") {
      words >> word;
      run = &curves.runs[word];
      words >> run->rate;
    } else if (word != "#") {
      run->losses.push_back(std::strtod(word.c_str(), nullptr));
    }
  }
  return curves;
}

Batch BatchOf(const Curves& curves, int number) {
  Batch batch;
  for (const onnx::ValueInfoProto& input : curves.graph.graph().input()) {
    std::vector<int64_t> dims;
    for (const auto& dim : input.type().tensor_type().shape().dim())
      dims.push_back(dim.dim_value());
    batch.inputs[input.name()] =
        Made(input.doc_string(), absl::StrCat(input.name(), "/", number), dims);
  }
  batch.target =
      Made(absl::StrCat("below ", curves.classes), absl::StrCat("target/", number), curves.target);
  return batch;
}

absl::StatusOr<std::shared_ptr<const onnx::OnnxModel>> LoadToTrain(const Curves& curves) {
  const std::string bytes = curves.graph.SerializeAsString();
  onnx::LoadOptions load;
  load.parameters_as_inputs = true;
  return onnx::OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                                    curves.graph.graph().name(), load);
}

}  // namespace tartan::train
