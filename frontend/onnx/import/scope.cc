// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import/scope.h"

#include "absl/strings/str_cat.h"

namespace tartan::onnx {
namespace {

// The placeholder of a tensor of an outer graph; constants are returned unchanged.
Tensor Captured(const Tensor& tensor, LoopBody* captures) {
  if (!tensor.depends_on_placeholder()) return tensor;
  for (size_t i = 0; i < captures->captured.size(); ++i) {
    if (captures->captured[i] == tensor) return captures->placeholders[i];
    if (captures->placeholders[i] == tensor) return tensor;
  }
  captures->captured.push_back(tensor);
  captures->placeholders.push_back(
      Tensor::Placeholder(absl::StrCat("outer", captures->captured.size()), tensor.shape()));
  return captures->placeholders.back();
}

Value Captured(const Value& value, LoopBody* captures) {
  std::vector<Tensor> tensors;
  api::AppendTensors(value, &tensors);
  for (Tensor& tensor : tensors) tensor = Captured(tensor, captures);
  absl::Span<const Tensor> rest = tensors;
  return api::Replace(value, &rest);
}

}  // namespace

const Value* Scope::Defined(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    const auto slot = scope->slots.find(name);
    if (slot != scope->slots.end()) return &slot->second.value;
    const auto constant = scope->graph->constants.find(name);
    if (constant != scope->graph->constants.end()) return &constant->second;
  }
  return nullptr;
}

std::unique_ptr<Slot> Scope::Find(const std::string& name) const {
  std::vector<LoopBody*> crossed;
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    std::unique_ptr<Slot> found;
    if (const auto slot = scope->slots.find(name); slot != scope->slots.end()) {
      found = std::make_unique<Slot>(slot->second);
    } else if (const auto constant = scope->graph->constants.find(name);
               constant != scope->graph->constants.end()) {
      found = std::make_unique<Slot>(Slot{constant->second});
    }
    if (found != nullptr) {
      // Captures the value body by body, outermost first: each body sees the placeholders of the
      // enclosing one.
      for (auto body = crossed.rbegin(); body != crossed.rend(); ++body) {
        if (!found->waits) found->value = Captured(found->value, *body);
      }
      return found;
    }
    if (scope->captures != nullptr) crossed.push_back(scope->captures);
  }
  return nullptr;
}

}  // namespace tartan::onnx
