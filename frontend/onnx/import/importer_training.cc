// SPDX-License-Identifier: Apache-2.0
// The parts of the importer that only training uses.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/import/importer.h"
#include "frontend/onnx/tile_text/dropout.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {

absl::Status Importer::DropElements(const std::string& name, Slot* slot) {
  if (training_ == nullptr || slot->waits || !slot->value.is_tensor()) return absl::OkStatus();
  const auto ratio = training_->dropout_of.find(name);
  if (ratio == training_->dropout_of.end()) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(const uint32_t stream, NextStream());
  absl::StatusOr<Tensor> kept =
      Dropped(slot->value.tensor(), ratio->second, RandomSeed(), stream, name);
  if (!kept.ok()) return Within(absl::StrCat("dropout of '", name, "'"), kept.status());
  slot->value = slot->value.With(*std::move(kept));
  return absl::OkStatus();
}

const Tensor& Importer::RandomSeed() {
  if (!random_seed_.defined()) {
    random_seed_ = Tensor::Placeholder("random_seed", TensorShape{DataType::kUInt32, {2}});
  }
  return random_seed_;
}

Value Importer::OperandOfMaker(const std::string& name, int i) {
  for (const NodeProto* node : current_scope_->graph->nodes) {
    if (std::find(node->output().begin(), node->output().end(), name) == node->output().end()) {
      continue;
    }
    if (i >= node->input_size()) return {};
    const std::unique_ptr<Slot> slot = current_scope_->Find(node->input(i));
    return slot == nullptr || slot->waits ? Value() : slot->value;
  }
  return {};
}

std::optional<std::vector<int64_t>> Importer::DeclaredDims(const std::string& name) {
  const auto found = current_scope_->graph->declared.find(name);
  if (found == current_scope_->graph->declared.end()) return std::nullopt;
  return found->second;
}

void Importer::Update(const Tensor& tensor, Tensor next) {
  if (tensor.is_placeholder() && body_depth_ == 0) updates_.emplace_back(tensor, std::move(next));
}

}  // namespace tartan::onnx
