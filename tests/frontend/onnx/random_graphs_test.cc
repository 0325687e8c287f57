// SPDX-License-Identifier: Apache-2.0
// Compares random graphs with ONNX's reference evaluator and onnxruntime. scripts/compare_graphs.py
// packs graphs and results into one file.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "frontend/api/session.h"
#include "gtest/gtest.h"
#include "tests/frontend/onnx/node_case.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx::random_graphs_test {
namespace {

constexpr char kPacked[] = "tests/frontend/onnx/random_graphs.bin";

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

class RandomGraphs : public ::testing::Test {
 protected:
  // Makes a folder per case.
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              absl::StrCat("random_graphs_", ::testing::UnitTest::GetInstance()->random_seed(), "_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
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
    ASSERT_EQ(folders_.size(), 50u);
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::vector<std::string> folders_;
};

TEST_F(RandomGraphs, AreRightByDefinitionWithInputsThatAreKnown) {
  for (const std::string& folder : folders_) {
    const absl::Status status = RunGraphCase(folder, Inputs::kKnown);
    EXPECT_TRUE(status.ok()) << folder << ": " << status;
  }
}

TEST_F(RandomGraphs, AreRightByDefinitionWithInputsThatAreAskedFor) {
  for (const std::string& folder : folders_) {
    const absl::Status status = RunGraphCase(folder, Inputs::kUnknown);
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

TEST_F(RandomGraphs, AreRightOnTheDevice) {
  auto device = api::Device::Open();
  if (!device.ok()) GTEST_SKIP() << device.status();
  for (const std::string& folder : folders_) {
    const absl::StatusOr<NodeCase> graph = ReadCase(folder);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const absl::Status status = RunOn(*device, *graph);
    EXPECT_TRUE(status.ok()) << folder << ": " << status;
  }
}

}  // namespace
}  // namespace tartan::onnx::random_graphs_test
