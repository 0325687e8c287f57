// SPDX-License-Identifier: Apache-2.0
// Compares nodes of training graphs with onnxruntime-training, or with float64 formulas when it
// does not support them. scripts/training_cases.py writes the results, and
// scripts/compare_graphs.py packs them into one file.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "frontend/api/session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/node_case.h"
#include "tests/frontend/onnx/run_text_model.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx::training_nodes_test {
namespace {

constexpr char kPacked[] = "tests/frontend/onnx/training_cases.bin";

// Reads numbers and pieces in the order of `--pack`.
class PackReader {
 public:
  explicit PackReader(std::string bytes) : bytes_(std::move(bytes)) {}

  bool AtEnd() const { return at_ == bytes_.size(); }
  uint32_t Number() {
    uint32_t number = 0;
    std::memcpy(&number, Take(sizeof number).data(), sizeof number);
    return number;
  }
  std::string Piece() { return Take(Number()); }

 private:
  std::string Take(size_t size) {
    if (size > bytes_.size() - at_) std::abort();
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

  const std::string bytes_;
  size_t at_ = 0;
};

void Write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class TrainingNodes : public ::testing::Test {
 protected:
  // Makes a folder per case.
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              absl::StrCat("training_nodes_", ::testing::UnitTest::GetInstance()->random_seed(),
                           "_", ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::ifstream file(kPacked, std::ios::binary);
    PackReader pack(std::string(std::istreambuf_iterator<char>(file), {}));
    while (!pack.AtEnd()) {
      const std::filesystem::path folder = folder_ / pack.Piece();
      const std::filesystem::path data = folder / "test_data_set_0";
      std::filesystem::create_directories(data);
      Write(folder / "model.onnx", pack.Piece());
      for (const char* prefix : {"input", "output"}) {
        const uint32_t count = pack.Number();
        for (uint32_t i = 0; i < count; ++i) {
          Write(data / absl::StrCat(prefix, "_", i, ".pb"), pack.Piece());
        }
      }
      folders_.push_back(folder.string());
    }
    ASSERT_EQ(folders_.size(), 250u);
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::vector<std::string> folders_;
};

TEST_F(TrainingNodes, AreRightByDefinition) {
  for (const std::string& folder : folders_) {
    const absl::Status status = RunNodeCase(folder);
    EXPECT_TRUE(status.ok()) << folder << ": " << status;
  }
}

absl::Status RunOn(const std::shared_ptr<api::Device>& device, const NodeCase& graph) {
  api::SessionOptions options;
  options.tier = api::Tier::kExact;
  TARTAN_ASSIGN_OR_RETURN(const std::unique_ptr<api::Session> session,
                          api::Session::Create(graph.model, device, options));
  std::map<std::string, api::HostValue> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    inputs[graph.model->inputs()[i].name] = graph.inputs[i];
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::HostValue> outputs, session->RunValues(inputs));
  return CompareByType(outputs, graph.expected);
}

TEST_F(TrainingNodes, AreRightOnTheDevice) {
  auto device = api::Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  for (const std::string& folder : folders_) {
    const absl::StatusOr<NodeCase> graph = ReadCase(folder);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const absl::Status status = RunOn(*device, *graph);
    EXPECT_TRUE(status.ok()) << folder << ": " << status;
  }
}

// Some tools write a loss node whose only output is the log-probabilities.
TEST(TrainingGraph, MayGiveTheLossForTheLogarithmsOfItsProbabilities) {
  const auto model = LoadModel(
      "graph { name: 'g' " + FloatInput("x", "1 2") + IntConstant("one", 1) +
          Node("flat", "Reshape", {"one", "minus"}, {"label"}) + IntConstant("minus", -1) +
          Node("loss", "SoftmaxCrossEntropyLoss", {"x", "label"}, {"log_prob"}) +
          Node("back", "SoftmaxCrossEntropyLossGrad", {"log_prob", "label"}, {"dx"}) +
          Output("dx") + " }",
      13);
  const Results results = RunByDefinition(
      *model, {{"x", HostTensor::FromVector(TensorShape{DataType::kFloat32, {1, 2}},
                                            std::vector<float>{0.0f, 1.0986123f})}});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_NEAR((*results)[0].GetDouble(0), 0.25, 1e-5);
  EXPECT_NEAR((*results)[0].GetDouble(1), -0.25, 1e-5);
}

TEST(TrainingGraph, IsRefusedWhereTheFileDoesNotGiveThePoolsSizes) {
  const auto model = LoadModel("graph { name: 'g' " + FloatInput("dy", "1 1 2") +
                                   Node("back", "AveragePoolGrad", {"dy"}, {"dx"},
                                        "attribute { name: 'kernel_shape' type: INTS ints: 2 }") +
                                   Output("dx") + " }",
                               13);
  const Results results = RunByDefinition(
      *model, {{"dy", HostTensor::FromVector(TensorShape{DataType::kFloat32, {1, 1, 2}},
                                             std::vector<float>{1, 2})}});
  EXPECT_THAT(std::string(results.status().message()),
              ::testing::HasSubstr("the model does not declare the sizes of the result 'dx'"));
}

}  // namespace
}  // namespace tartan::onnx::training_nodes_test
