// SPDX-License-Identifier: Apache-2.0
// Losses over 100 steps beside those of PyTorch, from the same start and data: tests/…/curves holds
// what scripts/training_curves.py wrote. TARTAN_LONG_TESTS compiles the exact kernels of all
// networks; else those that compile long run kernels whose sizes are arguments.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "frontend/train/schedule.h"
#include "frontend/train/trainer.h"
#include "proto/onnx.pb.h"
#include "tile/compiler/compile_options.h"

namespace tartan::train::curves_test {
namespace {

// Numbers in [-1, 1), as generated() of scripts/training_networks.py makes them of a name.
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

// "float SCALE CENTER", "keep SHARE" or "below LIMIT": a tensor's values, or of one batch.
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
    // Scales are float32: the product is exact.
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

struct Curves {
  onnx::ModelProto graph;
  int batches = 0;
  int64_t classes = 0;
  std::vector<int64_t> target;
  struct Run {
    double rate = 0;
    std::vector<double> losses;
  };
  std::map<std::string, Run> runs;
};

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

struct Batch {
  api::NamedTensors inputs;
  HostTensor target;
};

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

TrainerOptions OptionsOf(const std::string& run) {
  TrainerOptions options;
  options.mode.batch_norm = true;
  if (run == "momentum") {
    options.optimizer.kind = OptimizerKind::kMomentum;
  } else {
    options.optimizer.decay = 0.01;
    options.clip_norm = 1;
  }
  return options;
}

struct Case {
  std::string network;
  std::string run;
  bool compiles_long = false;
};

class CurvesTest : public testing::TestWithParam<Case> {};

TEST_P(CurvesTest, LossesAreThoseOfPyTorch) {
  auto device = api::Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  std::shared_ptr<api::Device> used = *device;
  if (GetParam().compiles_long && std::getenv("TARTAN_LONG_TESTS") == nullptr) {
    used = used->WithTier(compiler::Tier::kReady);
  }
  const Curves curves = ReadCurves(GetParam().network);
  const Curves::Run& expected = curves.runs.at(GetParam().run);
  ASSERT_EQ(expected.losses.size(), 100u);
  const std::string bytes = curves.graph.SerializeAsString();
  onnx::LoadOptions load;
  load.parameters_as_inputs = true;
  const auto model = onnx::OnnxModel::LoadBytes(
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, GetParam().network, load);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto trainer = Trainer::Create(*model, used, OptionsOf(GetParam().run));
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  std::vector<Batch> batches;
  for (int i = 0; i < curves.batches; ++i) batches.push_back(BatchOf(curves, i));
  Schedule cosine;
  cosine.kind = ScheduleKind::kCosine;
  const Schedule schedule = GetParam().run == "adamw" ? cosine : Schedule();
  double worst = 0;
  for (int step = 0; step < 100; ++step) {
    const Batch& batch = batches[static_cast<size_t>(step % curves.batches)];
    ASSERT_EQ((*trainer)->Step(batch.inputs, batch.target, expected.rate * schedule.At(step, 100)),
              absl::OkStatus());
    const auto progress = (*trainer)->Read();
    ASSERT_TRUE(progress.ok()) << progress.status();
    const double loss = expected.losses[static_cast<size_t>(step)];
    EXPECT_NEAR(progress->loss, loss, 1e-3 * loss) << "step " << step;
    worst = std::max(worst, std::abs(progress->loss / loss - 1));
  }
  RecordProperty("worst", absl::StrCat(worst));
  RecordProperty("compile_ms", absl::StrCat((*trainer)->compile_ms()));
}

INSTANTIATE_TEST_SUITE_P(
    Networks, CurvesTest,
    testing::Values(Case{"mlp", "momentum"}, Case{"mlp", "adamw"}, Case{"cnn", "momentum", true},
                    Case{"cnn", "adamw"}, Case{"resnet18", "momentum", true},
                    Case{"resnet18", "adamw", true}, Case{"lstm", "momentum", true},
                    Case{"lstm", "adamw", true}, Case{"transformer", "momentum", true},
                    Case{"transformer", "adamw", true}),
    [](const auto& named) { return named.param.network + "_" + named.param.run; });

}  // namespace
}  // namespace tartan::train::curves_test
