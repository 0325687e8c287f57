// SPDX-License-Identifier: Apache-2.0
// The graph node that a lazy tensor refers to. Internal to frontend/api.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "frontend/api/check.h"
#include "tile/base/host_tensor.h"
#include "tile/base/shape.h"
#include "tile/lang/ast.h"

namespace tartan::api {

struct RepeatBody;  // repeat.h
struct TensorNode;

// One result of a node: the target of a Tensor handle.
struct NodeResult {
  std::shared_ptr<const TensorNode> node;
  int result = 0;
};

struct PlaceholderNode {
  std::optional<HostTensor> value;  // the value of a leaf
};

struct ConstantNode {
  HostTensor value;
};

// A Tile function applied to tensors, with one result per output of the function.
struct ApplicationNode {
  std::shared_ptr<const lang::Function> function;
  std::vector<NodeResult> inputs;
};

// A body that runs several times (loop.h). Results: the final states, then the stacked rows
// [iterations, RowElements].
struct LoopNode {
  std::shared_ptr<const RepeatBody> body;  // without iteration and condition
  bool reversed = false;                   // from the last row to the first
  std::vector<NodeResult> inputs;          // states, [iterations, RowElements] tensors, invariants
  // A loop of the same inputs, whose results are the first ones of this loop. A program with both
  // computes only this one.
  std::shared_ptr<const TensorNode> shorter;
};

struct TensorNode {
  // Releases the nodes that only this node owns iteratively, because chains of nodes may be long.
  ~TensorNode();

  // Nodes are numbered as they are made, so a node's number is greater than its inputs' numbers.
  const uint64_t number = NextNumber();
  std::string name;  // name of a placeholder or constant; the caller's node name for an application
  std::vector<TensorShape> shapes;  // one per result
  std::variant<PlaceholderNode, ConstantNode, ApplicationNode, LoopNode> kind;
  // One placeholder that this node depends on, an open one if there are any; itself for a
  // placeholder; null if there is none. The inputs keep it alive.
  const TensorNode* placeholder = nullptr;
  void TakePlaceholderOf(const TensorNode& input);
  bool IsOpen() const;  // true for a placeholder without a value
  // The check of this application's input; null if there is none. An application with a check
  // returns its input unchanged.
  std::shared_ptr<const Check> check;

  // Values computed on the host so far, one per result.
  mutable std::mutex host_mutex;
  mutable std::vector<std::optional<HostTensor>> host_values;

 private:
  static uint64_t NextNumber();
};

// The inputs of an application or a loop; empty for other nodes.
absl::Span<const NodeResult> InputsOf(const TensorNode& node);

}  // namespace tartan::api
