// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/repeat_body.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tartan::api {
namespace {

// Bytes: on all known devices a sub-buffer may begin at a multiple.
constexpr int64_t kRowAlignment = 512;

}  // namespace

int64_t RowElements(const TensorShape& row) {
  const int64_t unit = kRowAlignment / static_cast<int64_t>(ByteWidth(row.type));
  return std::max<int64_t>((row.element_count() + unit - 1) / unit, 1) * unit;
}

std::shared_ptr<const TensorNode> MakeLoop(RepeatBody body, std::vector<NodeResult> inputs,
                                           absl::string_view name, bool reversed,
                                           std::shared_ptr<const TensorNode> shorter) {
  auto node = std::make_shared<TensorNode>();
  node->name = std::string(name);
  for (const Tensor& state : body.states) node->shapes.push_back(state.shape());
  for (const Tensor& row : body.rows) {
    node->shapes.push_back({row.type(), {body.iterations, RowElements(row.shape())}});
  }
  for (const NodeResult& input : inputs) node->TakePlaceholderOf(*input.node);
  node->kind = LoopNode{std::make_shared<const RepeatBody>(std::move(body)), reversed,
                        std::move(inputs), std::move(shorter)};
  return node;
}

}  // namespace tartan::api
