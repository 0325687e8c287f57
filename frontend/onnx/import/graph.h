// SPDX-License-Identifier: Apache-2.0
// A graph prepared for import: constants are tensors, names are resolved, nodes are sorted. Each
// model, each body of control flow and each function is prepared once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/value.h"
#include "frontend/onnx/values/tensor_proto.h"

namespace tartan::onnx {

class AttributeProto;
class FunctionProto;
class GraphProto;
class NodeProto;

// A prepared graph. The protobuf messages must outlive it.
struct Graph {
  std::string name;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  // Operands come before their users. Constant nodes with a value of their own are in `constants`
  // instead.
  std::vector<const NodeProto*> nodes;
  // Initialisers and Constant nodes. An input of the same name takes precedence.
  std::unordered_map<std::string, api::Value> constants;
  // The position of the last node that reads a name, including reads in nested graphs; nodes.size()
  // for an output. Names that nothing reads are absent.
  std::unordered_map<std::string, int> last_use;
  // Names read here or in a nested graph but defined outside, with the node that reads them.
  std::map<std::string, std::string> captured;
  // Sizes that the file declares for results of nodes, -1 for an unspecified size.
  std::unordered_map<std::string, std::vector<int64_t>> declared;
  // The graphs in attributes of `nodes`.
  std::map<const GraphProto*, std::unique_ptr<Graph>> subgraphs;

  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();  // iterative, because graphs may nest deeply
};

// Errors: InvalidArgument names the nodes for a cycle, a name defined twice, and an unnamed or
// undefined operand. Errors of tensors name the tensor. The caller checks `captured`.
absl::StatusOr<std::unique_ptr<Graph>> BuildGraph(const GraphProto& proto,
                                                  const TensorSource& source);
absl::StatusOr<std::unique_ptr<const Graph>> BuildFunctionBody(const FunctionProto& proto,
                                                               const TensorSource& source);

// InvalidArgument naming a name that the graph reads and nothing defines. For graphs without an
// outer graph.
absl::Status CheckNothingCaptured(const Graph& graph);

// Returns the error with "where: " in front of its message. A message of very many places loses
// those in the middle.
absl::Status Within(absl::string_view where, const absl::Status& status);

// "conv1 (Conv)", or "-> y (Conv)" with the first output of an unnamed node.
std::string Describe(const NodeProto& node);

// The name of the node, or of its first output if it has none, in printable form.
std::string LabelOf(const NodeProto& node);

// "ai.onnx" and "" are one domain, written "".
absl::string_view NormalDomain(absl::string_view domain);

// The tensor that a Constant node represents.
absl::StatusOr<api::HostValue> ConstantFromAttribute(const AttributeProto& attribute,
                                                     const TensorSource& source);

}  // namespace tartan::onnx
