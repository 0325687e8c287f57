// SPDX-License-Identifier: Apache-2.0
// What a lazy tensor refers to. Internal to frontend/api.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "frontend/api/checks/check.h"
#include "tile/base/host_tensor.h"
#include "tile/base/shape.h"
#include "tile/lang/ast.h"

namespace tartan::api {

struct TensorNode;

// What a tensor is a handle to.
struct NodeResult {
  std::shared_ptr<const TensorNode> node;
  int result = 0;
};

struct PlaceholderNode {
  std::optional<HostTensor> value;  // of a leaf
};

struct ConstantNode {
  HostTensor value;
};

// A Tile function applied to tensors; one result per output of the function.
struct ApplicationNode {
  std::shared_ptr<const lang::Function> function;
  std::vector<NodeResult> inputs;
};

struct TensorNode {
  // Chains of nodes may be long: releases what only this node holds without recursion.
  ~TensorNode();

  std::string name;  // of a placeholder or constant; of the caller's node for an application
  std::vector<TensorShape> shapes;  // per result
  std::variant<PlaceholderNode, ConstantNode, ApplicationNode> kind;
  // One placeholder this node depends on, itself for a placeholder; null where there is none. The
  // inputs keep it alive.
  const TensorNode* placeholder = nullptr;
  // What the input of this application, which hands it on as it is, is held to; null for
  // others.
  std::shared_ptr<const Check> check;

  // Values computed on the host so far, per result.
  mutable std::mutex host_mutex;
  mutable std::vector<std::optional<HostTensor>> host_values;
};

// The inputs of an application; empty for other nodes.
absl::Span<const NodeResult> InputsOf(const TensorNode& node);

}  // namespace tartan::api
