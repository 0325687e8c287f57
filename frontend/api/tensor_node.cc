// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/tensor_node.h"

#include <atomic>
#include <utility>

namespace tartan::api {
namespace {

// Moves the inputs of an application out of the node.
std::vector<NodeResult> TakeInputs(TensorNode& node) {
  if (auto* application = std::get_if<ApplicationNode>(&node.kind)) {
    return std::exchange(application->inputs, {});
  }
  auto* loop = std::get_if<LoopNode>(&node.kind);
  return loop == nullptr ? std::vector<NodeResult>() : std::exchange(loop->inputs, {});
}

}  // namespace

TensorNode::~TensorNode() {
  std::vector<NodeResult> pending = TakeInputs(*this);
  while (!pending.empty()) {
    const NodeResult last = std::move(pending.back());
    pending.pop_back();
    // Only the last owner may empty the node, which no other thread can reach.
    if (last.node == nullptr || last.node.use_count() != 1) continue;
    for (NodeResult& input : TakeInputs(const_cast<TensorNode&>(*last.node))) {
      pending.push_back(std::move(input));
    }
  }
}

uint64_t TensorNode::NextNumber() {
  static std::atomic<uint64_t> next = 0;
  return next.fetch_add(1, std::memory_order_relaxed);
}

absl::Span<const NodeResult> InputsOf(const TensorNode& node) {
  if (const auto* application = std::get_if<ApplicationNode>(&node.kind)) {
    return application->inputs;
  }
  if (const auto* loop = std::get_if<LoopNode>(&node.kind)) return loop->inputs;
  return {};
}

}  // namespace tartan::api
