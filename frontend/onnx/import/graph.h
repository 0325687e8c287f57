// SPDX-License-Identifier: Apache-2.0
// A graph made ready for import: constants are tensors, names are resolved, nodes are in an order
// in which they can run. Made once per model; bodies of control flow and functions likewise.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/value.h"
#include "frontend/onnx/model/tensor_proto.h"

namespace tartan::onnx {

class AttributeProto;
class FunctionProto;
class GraphProto;
class NodeProto;

// The messages must outlive the graph.
struct Graph {
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  // Operands come before their users. Constant nodes with a value of their own are in `constants`
  // instead.
  std::vector<const NodeProto*> nodes;
  // Initialisers and Constant nodes. An input of the same name takes precedence.
  std::unordered_map<std::string, api::Value> constants;
  // The position of the last node that reads a name, nested graphs included; nodes.size() for an
  // output. Names that nothing reads are not there.
  std::unordered_map<std::string, int> last_use;
  // Names read here or in a nested graph but defined outside, with the node that reads them.
  std::map<std::string, std::string> captured;
  // Sizes that the file gives for results of nodes, -1 where it leaves one open.
  std::unordered_map<std::string, std::vector<int64_t>> declared;
  // The graphs in attributes of `nodes`.
  std::map<const GraphProto*, std::unique_ptr<Graph>> subgraphs;

  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();  // without recursion: graphs may lie deep in each other
};

// InvalidArgument naming the nodes for a cycle, a name defined twice and an unnamed or undefined
// operand; errors of tensors name the tensor. `captured` is left to the caller to judge.
absl::StatusOr<std::unique_ptr<Graph>> BuildGraph(const GraphProto& proto,
                                                  const TensorSource& source);
absl::StatusOr<std::unique_ptr<const Graph>> BuildFunctionBody(const FunctionProto& proto,
                                                               const TensorSource& source);

// InvalidArgument naming a name the graph reads and nothing defines: for graphs with no outside.
absl::Status CheckNothingCaptured(const Graph& graph);

// An error with "where: " in front of its message; one of very many places loses those in the
// middle.
absl::Status Within(absl::string_view where, const absl::Status& status);

// "conv1 (Conv)", or by its first output where the node has no name: "-> y (Conv)".
std::string Describe(const NodeProto& node);

// Name of the node, of its first output where it has none; fit to be shown.
std::string LabelOf(const NodeProto& node);

// "ai.onnx" and "" are one domain, written "".
absl::string_view NormalDomain(absl::string_view domain);

// The tensor a Constant node stands for.
absl::StatusOr<api::HostValue> ConstantFromAttribute(const AttributeProto& attribute,
                                                     const TensorSource& source);

}  // namespace tartan::onnx
