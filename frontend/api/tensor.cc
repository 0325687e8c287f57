// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tensor.h"

#include <utility>

#include "frontend/api/tensor_node.h"

namespace tartan::api {
namespace {

std::shared_ptr<TensorNode> MakeNode(std::string name, TensorShape shape) {
  auto node = std::make_shared<TensorNode>();
  node->name = std::move(name);
  node->shapes.push_back(std::move(shape));
  return node;
}

// Takes the inputs of an application out of the node.
std::vector<Tensor> TakeInputs(TensorNode& node) {
  auto* application = std::get_if<ApplicationNode>(&node.kind);
  return application == nullptr ? std::vector<Tensor>() : std::exchange(application->inputs, {});
}

}  // namespace

TensorNode::~TensorNode() {
  std::vector<Tensor> pending = TakeInputs(*this);
  while (!pending.empty()) {
    const Tensor tensor = std::move(pending.back());
    pending.pop_back();
    // The last holder may empty the node; other threads have no way to reach it.
    if (!tensor.defined() || tensor.node().use_count() != 1) continue;
    for (Tensor& input : TakeInputs(const_cast<TensorNode&>(*tensor.node()))) {
      pending.push_back(std::move(input));
    }
  }
}

Tensor Tensor::Placeholder(std::string name, TensorShape shape) {
  auto node = MakeNode(std::move(name), std::move(shape));
  node->placeholder = node.get();
  return Tensor(std::move(node), 0);
}

Tensor Tensor::Constant(HostTensor value, std::string name) {
  auto node = MakeNode(std::move(name), value.shape());
  node->kind = ConstantNode{std::move(value)};
  return Tensor(std::move(node), 0);
}

const TensorShape& Tensor::shape() const { return node_->shapes[result_]; }

const HostTensor* Tensor::constant() const {
  const auto* constant = std::get_if<ConstantNode>(&node_->kind);
  return constant == nullptr ? nullptr : &constant->value;
}

bool Tensor::is_placeholder() const { return std::holds_alternative<PlaceholderNode>(node_->kind); }

bool Tensor::depends_on_placeholder() const { return node_->placeholder != nullptr; }

absl::Span<const Tensor> InputsOf(const TensorNode& node) {
  const auto* application = std::get_if<ApplicationNode>(&node.kind);
  if (application == nullptr) return {};
  return application->inputs;
}

std::optional<HostTensor> KnownValue(const Tensor& tensor) {
  if (const HostTensor* value = tensor.constant(); value != nullptr) return *value;
  const TensorNode& node = *tensor.node();
  std::lock_guard<std::mutex> lock(node.host_mutex);
  if (node.host_values.empty()) return std::nullopt;
  return node.host_values[tensor.result()];
}

void RememberValue(const Tensor& tensor, HostTensor value) {
  const TensorNode& node = *tensor.node();
  std::lock_guard<std::mutex> lock(node.host_mutex);
  node.host_values.resize(node.shapes.size());
  node.host_values[tensor.result()] = std::move(value);
}

}  // namespace tartan::api
