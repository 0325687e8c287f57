// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/onnx/model_fuzzer.h"

#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/frontend/onnx/model_damage.h"
#include "tests/frontend/onnx/node_case.h"

namespace tartan::onnx {
namespace {

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

void AddInputs(const std::string& folder, GraphProto* graph) {
  for (int i = 0; i < graph->input_size(); ++i) {
    if (!graph->input(i).type().has_tensor_type()) continue;
    const std::string bytes = ReadFile(absl::StrCat(folder, "/test_data_set_0/input_", i, ".pb"));
    TensorProto tensor;
    if (bytes.empty() || !tensor.ParseFromString(bytes)) continue;
    tensor.set_name(graph->input(i).name());
    *graph->add_initializer() = std::move(tensor);
  }
}

}  // namespace

ModelFuzzer::ModelFuzzer(std::vector<std::string> corpus, uint32_t seed)
    : corpus_(std::move(corpus)),
      material_(std::make_unique<const Material>(Gather(corpus_))),
      dice_(seed) {
  for (const Damage& damage : Damages()) counts_.push_back({damage.name, 0});
  counts_.push_back({"bytes", 0});
}

ModelFuzzer::~ModelFuzzer() = default;

std::string ModelFuzzer::Next() {
  ModelProto model;
  model.ParseFromString(dice_.Among(corpus_));
  // Half of the time, keeps an input of the case an input instead of a constant.
  if (dice_.OneIn(2)) {
    auto* initializers = model.mutable_graph()->mutable_initializer();
    for (const ValueInfoProto& input : model.graph().input()) {
      for (int i = initializers->size() - 1; i >= 0; --i) {
        if (initializers->Get(i).name() == input.name()) initializers->DeleteSubrange(i, 1);
      }
    }
  }
  const absl::Span<const Damage> damages = Damages();
  const size_t weights =
      std::accumulate(damages.begin(), damages.end(), size_t{0},
                      [](size_t sum, const Damage& damage) { return sum + damage.weight; });
  for (size_t changes = 1 + dice_.Below(4); changes > 0; --changes) {
    size_t choice = dice_.Below(weights);
    size_t i = 0;
    while (choice >= damages[i].weight) choice -= damages[i++].weight;
    damages[i].apply(&model, *material_, &dice_);
    ++counts_[i].times;
  }
  std::string bytes = model.SerializeAsString();
  if (dice_.OneIn(12)) {
    DamageBytes(&bytes, &dice_);
    ++counts_.back().times;
  }
  return bytes;
}

std::vector<std::string> ReadModels(const std::string& root, size_t max_bytes) {
  std::vector<std::string> models;
  for (const std::string& folder : ListCasesIn(root)) {
    ModelProto model;
    const std::string bytes = ReadFile(std::filesystem::path(folder) / "model.onnx");
    if (bytes.size() > max_bytes || !model.ParseFromString(bytes)) continue;
    AddInputs(folder, model.mutable_graph());
    const bool is_small = model.ByteSizeLong() <= max_bytes;
    models.push_back(is_small ? model.SerializeAsString() : bytes);
  }
  return models;
}

std::vector<std::string> ReadOfficialModels(size_t max_bytes) {
  std::vector<std::string> models;
  for (const char* group : {"node", "simple", "pytorch-operator"}) {
    for (std::string& bytes : ReadModels(absl::StrCat(kTestDataFolder, "/", group), max_bytes)) {
      models.push_back(std::move(bytes));
    }
  }
  return models;
}

}  // namespace tartan::onnx
