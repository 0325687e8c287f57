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

}  // namespace

Tensor::Tensor(const NodeResult& result) : node_(result.node), result_(result.result) {}

Tensor Tensor::Placeholder(std::string name, TensorShape shape) {
  auto node = MakeNode(std::move(name), std::move(shape));
  node->placeholder = node.get();
  return Tensor(std::move(node), 0);
}

Tensor Tensor::Leaf(HostTensor value, std::string name) {
  auto node = MakeNode(std::move(name), value.shape());
  node->placeholder = node.get();
  node->kind = PlaceholderNode{std::move(value)};
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

const HostTensor* Tensor::leaf_value() const {
  const auto* placeholder = std::get_if<PlaceholderNode>(&node_->kind);
  return placeholder != nullptr && placeholder->value.has_value() ? &*placeholder->value : nullptr;
}

bool Tensor::depends_on_placeholder() const { return node_->placeholder != nullptr; }

bool Tensor::depends_on_open_placeholder() const {
  return node_->placeholder != nullptr && node_->placeholder->IsOpen();
}

bool TensorNode::IsOpen() const {
  const auto* placeholder = std::get_if<PlaceholderNode>(&kind);
  return placeholder != nullptr && !placeholder->value.has_value();
}

void TensorNode::TakePlaceholderOf(const TensorNode& input) {
  const TensorNode* other = input.placeholder;
  if (placeholder == nullptr || (other != nullptr && other->IsOpen())) placeholder = other;
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
