// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/eager/graph_key.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/tensor_node.h"

namespace tartan::api {
namespace {

// Constants up to this number of bytes are identified by their bytes, larger ones by their address.
constexpr size_t kMaxKeyBytes = 256;

class KeyMaker {
 public:
  void Add(const Tensor& root) {
    std::vector<std::pair<const TensorNode*, bool>> stack;
    Push(root.node(), &stack);
    while (!stack.empty()) {
      const auto [node, operands_done] = stack.back();
      stack.pop_back();
      if (numbers_.count(node) > 0) continue;
      if (!operands_done) {
        stack.emplace_back(node, true);
        for (const NodeResult& input : InputsOf(*node)) Push(input.node, &stack);
        continue;
      }
      AddNode(*node);
    }
    absl::StrAppend(&result_.key, "=", numbers_.at(root.node().get()), ".", root.result(), ";");
  }

  GraphKey Finish() && { return std::move(result_); }

 private:
  void Push(const std::shared_ptr<const TensorNode>& node,
            std::vector<std::pair<const TensorNode*, bool>>* stack) {
    owners_.emplace(node.get(), node);
    if (numbers_.count(node.get()) == 0) stack->emplace_back(node.get(), false);
  }

  void AddNode(const TensorNode& node) {
    std::string& key = result_.key;
    if (std::holds_alternative<PlaceholderNode>(node.kind)) {
      absl::StrAppend(&key, "p", node.shapes[0].ToString());
      result_.placeholders.emplace_back(owners_.at(&node), 0);
    } else if (const auto* constant = std::get_if<ConstantNode>(&node.kind); constant != nullptr) {
      AddConstant(constant->value);
    } else if (const auto* loop = std::get_if<LoopNode>(&node.kind); loop != nullptr) {
      absl::StrAppend(&key, "l", reinterpret_cast<uintptr_t>(loop->body.get()),
                      loop->reversed ? "r" : "");
      result_.bodies.push_back(loop->body);
      for (const NodeResult& input : loop->inputs) {
        absl::StrAppend(&key, ",", numbers_.at(input.node.get()), ".", input.result);
      }
    } else {
      const auto& application = std::get<ApplicationNode>(node.kind);
      absl::StrAppend(&key, "f", reinterpret_cast<uintptr_t>(application.function.get()));
      result_.functions.push_back(application.function);
      for (const NodeResult& input : application.inputs) {
        absl::StrAppend(&key, ",", numbers_.at(input.node.get()), ".", input.result);
      }
      if (node.check != nullptr) AddCheck(*node.check);
    }
    key += ';';
    numbers_.emplace(&node, numbers_.size());
  }

  void AddConstant(const HostTensor& value) {
    absl::StrAppend(&result_.key, "c", value.shape().ToString());
    const absl::Span<const uint8_t> bytes = value.bytes();
    if (bytes.size() <= kMaxKeyBytes) {
      result_.key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return;
    }
    absl::StrAppend(&result_.key, "@", reinterpret_cast<uintptr_t>(bytes.data()));
    result_.constants.push_back(value);
  }

  void AddCheck(const Check& check) {
    absl::StrAppend(&result_.key, "!", check.node, ":", check.noun);
    for (const Bounds& bounds : check.bounds) {
      absl::StrAppend(&result_.key, ",", bounds.least, "..", bounds.greatest, bounds.place);
    }
    if (check.exempt.has_value()) absl::StrAppend(&result_.key, "/", *check.exempt);
  }

  GraphKey result_;
  std::unordered_map<const TensorNode*, size_t> numbers_;
  std::unordered_map<const TensorNode*, std::shared_ptr<const TensorNode>> owners_;
};

}  // namespace

GraphKey KeyOf(absl::Span<const Tensor> outputs) {
  KeyMaker maker;
  for (const Tensor& output : outputs) maker.Add(output);
  return std::move(maker).Finish();
}

std::vector<Tensor> SharingAmong(absl::Span<const Tensor> tensors,
                                 absl::Span<const Tensor> candidates) {
  // `shares` says of a node whether its graph has operations of the graphs of `tensors`.
  std::unordered_map<const TensorNode*, bool> shares;
  // Nodes made before the first operation of `tensors` share none, and are not visited.
  uint64_t first = std::numeric_limits<uint64_t>::max();
  const auto visit = [&](const TensorNode* root, bool is_wanted) {
    std::vector<std::pair<const TensorNode*, bool>> stack = {{root, false}};
    while (!stack.empty()) {
      const auto [node, operands_done] = stack.back();
      stack.pop_back();
      const absl::Span<const NodeResult> inputs = InputsOf(*node);
      if (operands_done) {
        bool any = is_wanted && !inputs.empty();
        for (const NodeResult& input : inputs) any = any || shares.at(input.node.get());
        shares[node] = any;
        if (is_wanted && !inputs.empty()) first = std::min(first, node->number);
      } else if (shares.count(node) > 0) {
        continue;
      } else if (!is_wanted && node->number < first) {
        shares[node] = false;
      } else {
        stack.emplace_back(node, true);
        for (const NodeResult& input : inputs) stack.emplace_back(input.node.get(), false);
      }
    }
  };
  for (const Tensor& tensor : tensors) visit(tensor.node().get(), /*is_wanted=*/true);
  std::vector<Tensor> sharing;
  for (const Tensor& candidate : candidates) {
    visit(candidate.node().get(), /*is_wanted=*/false);
    if (shares.at(candidate.node().get())) sharing.push_back(candidate);
  }
  return sharing;
}

}  // namespace tartan::api
