// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import/graph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/values/value_proto.h"
#include "proto/onnx.pb.h"
#include "tile/base/printable.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using NodeList = google::protobuf::RepeatedPtrField<NodeProto>;

// Maximum length of an error message in bytes (empirical). Each enclosing graph adds a prefix.
constexpr size_t kLongestMessage = 3000;

absl::Status InPlace(absl::string_view prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, ": ", status.message()));
}

// Builds a Graph from its parts: definitions first, then the order of the nodes.
class GraphBuilder {
 public:
  explicit GraphBuilder(const TensorSource& source)
      : source_(source), graph_(std::make_unique<Graph>()) {}

  absl::Status AddInput(const std::string& name) {
    if (name.empty()) return absl::InvalidArgumentError("a graph input has no name");
    graph_->inputs.push_back(name);
    if (!inputs_.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("two inputs have the name '", name, "'"));
    }
    return absl::OkStatus();
  }

  template <class Proto>
  absl::Status AddInitializer(const std::string& name, const Proto& proto) {
    if (name.empty()) return absl::InvalidArgumentError("an initialiser has no name");
    absl::StatusOr<api::HostValue> value = Read(proto);
    if (!value.ok()) return InPlace(absl::StrCat("tensor '", name, "'"), value.status());
    return AddConstant(name, *std::move(value), absl::StrCat("initialiser '", name, "'"));
  }

  absl::Status AddNodes(const NodeList& nodes) {
    for (const NodeProto& node : nodes) {
      if (node.op_type().empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("node '", LabelOf(node), "' has no operator"));
      }
      TARTAN_ASSIGN_OR_RETURN(const bool is_constant, AddConstantNode(node));
      if (is_constant) continue;
      const int index = static_cast<int>(nodes_.size());
      nodes_.push_back(&node);
      for (const std::string& output : node.output()) {
        if (!output.empty()) TARTAN_RETURN_IF_ERROR(Define(output, Describe(node), index));
      }
    }
    for (const NodeProto* node : nodes_) TARTAN_RETURN_IF_ERROR(AddSubgraphs(*node));
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Graph>> Finish(std::string name,
                                                std::vector<std::string> outputs) && {
    graph_->name = std::move(name);
    graph_->outputs = std::move(outputs);
    TARTAN_RETURN_IF_ERROR(SortNodes());
    for (size_t i = 0; i < graph_->nodes.size(); ++i) {
      for (const std::string& read : NamesRead(*graph_->nodes[i])) {
        graph_->last_use[read] = static_cast<int>(i);
      }
    }
    for (const std::string& output : graph_->outputs) {
      if (!IsDefined(output)) graph_->captured.emplace(output, "the graph's output");
      graph_->last_use[output] = static_cast<int>(graph_->nodes.size());
    }
    return std::move(graph_);
  }

 private:
  absl::StatusOr<api::HostValue> Read(const TensorProto& proto) const {
    return ToHostValue(proto, source_);
  }
  absl::StatusOr<api::HostValue> Read(const SparseTensorProto& proto) const {
    return ToHostTensor(proto, source_);
  }

  bool IsDefined(const std::string& name) const {
    return inputs_.count(name) > 0 || producer_.count(name) > 0 ||
           graph_->constants.count(name) > 0;
  }

  absl::Status CheckNewName(const std::string& name, absl::string_view by) const {
    const auto found = defined_by_.find(name);
    if (found == defined_by_.end()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' is defined twice: by ", found->second, " and by ", by));
  }

  absl::Status AddConstant(const std::string& name, const api::HostValue& value, std::string by) {
    TARTAN_RETURN_IF_ERROR(CheckNewName(name, by));
    graph_->constants.emplace(name, api::ToLazy(value, name));
    defined_by_.emplace(name, std::move(by));
    return absl::OkStatus();
  }

  absl::Status Define(const std::string& name, std::string by, int node) {
    TARTAN_RETURN_IF_ERROR(CheckNewName(name, by));
    if (inputs_.count(name) > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", name, "' is an input, and is also computed by ", by));
    }
    producer_.emplace(name, node);
    defined_by_.emplace(name, std::move(by));
    return absl::OkStatus();
  }

  // Adds the constant of a Constant node and returns true. Returns false for other nodes, for
  // constants that the importer cannot represent, and for those that refer to a function's
  // attribute.
  absl::StatusOr<bool> AddConstantNode(const NodeProto& node) {
    const bool is_constant = node.op_type() == "Constant" && NormalDomain(node.domain()).empty() &&
                             node.attribute_size() == 1 && node.output_size() == 1 &&
                             node.attribute(0).ref_attr_name().empty();
    if (!is_constant) return false;
    absl::StatusOr<api::HostValue> value = ConstantFromAttribute(node.attribute(0), source_);
    if (absl::IsUnimplemented(value.status())) return false;
    if (!value.ok()) return InPlace(Describe(node), value.status());
    TARTAN_RETURN_IF_ERROR(AddConstant(node.output(0), *std::move(value), Describe(node)));
    return true;
  }

  absl::Status AddSubgraph(const NodeProto& node, const GraphProto& proto) {
    absl::StatusOr<std::unique_ptr<Graph>> graph = BuildGraph(proto, source_);
    if (!graph.ok()) return Within(Describe(node), graph.status());
    graph_->subgraphs.emplace(&proto, *std::move(graph));
    return absl::OkStatus();
  }

  absl::Status AddSubgraphs(const NodeProto& node) {
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) TARTAN_RETURN_IF_ERROR(AddSubgraph(node, attribute.g()));
      for (const GraphProto& graph : attribute.graphs()) {
        TARTAN_RETURN_IF_ERROR(AddSubgraph(node, graph));
      }
    }
    return absl::OkStatus();
  }

  // Every name that the node reads, including reads by its nested graphs.
  std::set<std::string> NamesRead(const NodeProto& node) const {
    std::set<std::string> names;
    for (const std::string& input : node.input()) {
      if (!input.empty()) names.insert(input);
    }
    const auto add_captured = [&](const GraphProto& proto) {
      for (const auto& [name, reader] : graph_->subgraphs.at(&proto)->captured) names.insert(name);
    };
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) add_captured(attribute.g());
      for (const GraphProto& graph : attribute.graphs()) add_captured(graph);
    }
    return names;
  }

  // Kahn's algorithm. Among the nodes that are ready, the first in the file goes first.
  absl::Status SortNodes() {
    const size_t count = nodes_.size();
    std::vector<std::vector<int>> users(count);
    std::vector<std::vector<int>> operands(count);
    std::vector<int> missing(count, 0);
    for (size_t i = 0; i < count; ++i) {
      for (const std::string& name : NamesRead(*nodes_[i])) {
        const auto producer = producer_.find(name);
        if (producer != producer_.end()) {
          users[static_cast<size_t>(producer->second)].push_back(static_cast<int>(i));
          operands[i].push_back(producer->second);
          ++missing[i];
        } else if (!IsDefined(name)) {
          graph_->captured.emplace(name, Describe(*nodes_[i]));
        }
      }
    }
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (size_t i = 0; i < count; ++i) {
      if (missing[i] == 0) ready.push(static_cast<int>(i));
    }
    while (!ready.empty()) {
      const size_t node = static_cast<size_t>(ready.top());
      ready.pop();
      graph_->nodes.push_back(nodes_[node]);
      for (int user : users[node]) {
        if (--missing[static_cast<size_t>(user)] == 0) ready.push(user);
      }
    }
    if (graph_->nodes.size() == count) return absl::OkStatus();
    return CycleError(operands, missing);
  }

  // Walks from an unsorted node to an unsorted operand until a node repeats.
  absl::Status CycleError(const std::vector<std::vector<int>>& operands,
                          const std::vector<int>& missing) const {
    const auto unsorted = [&](int i) { return missing[static_cast<size_t>(i)] > 0; };
    int node = 0;
    while (!unsorted(node)) ++node;
    std::vector<int> path;
    while (std::find(path.begin(), path.end(), node) == path.end()) {
      path.push_back(node);
      const std::vector<int>& from = operands[static_cast<size_t>(node)];
      node = *std::find_if(from.begin(), from.end(), unsorted);
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), node));
    path.push_back(node);
    const auto describe = [&](std::string* out, int i) {
      absl::StrAppend(out, Describe(*nodes_[static_cast<size_t>(i)]));
    };
    return absl::InvalidArgumentError(
        absl::StrCat("the graph has a cycle: ", absl::StrJoin(path, " reads ", describe)));
  }

  const TensorSource& source_;
  std::unique_ptr<Graph> graph_;
  std::vector<const NodeProto*> nodes_;
  std::set<std::string> inputs_;
  std::unordered_map<std::string, int> producer_;  // name to position in nodes_
  std::unordered_map<std::string, std::string> defined_by_;
};

template <class T>
HostTensor VectorTensor(DataType type, const std::vector<T>& values, bool is_scalar) {
  std::vector<int64_t> dims;
  if (!is_scalar) dims.push_back(static_cast<int64_t>(values.size()));
  return HostTensor::FromVector(TensorShape{type, std::move(dims)}, values);
}

void RecordDeclaredDims(const ValueInfoProto& value, Graph* graph) {
  if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape()) return;
  std::vector<int64_t>& dims = graph->declared[value.name()];
  dims.clear();
  for (const auto& dim : value.type().tensor_type().shape().dim()) {
    dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  }
}

}  // namespace

Graph::~Graph() {
  std::vector<std::unique_ptr<Graph>> waiting;
  const auto take = [&](Graph& graph) {
    for (auto& [proto, nested] : graph.subgraphs) waiting.push_back(std::move(nested));
    graph.subgraphs.clear();
  };
  take(*this);
  while (!waiting.empty()) {
    const std::unique_ptr<Graph> last = std::move(waiting.back());
    waiting.pop_back();
    take(*last);
  }
}

absl::StatusOr<std::unique_ptr<Graph>> BuildGraph(const GraphProto& proto,
                                                  const TensorSource& source) {
  GraphBuilder builder(source);
  for (const ValueInfoProto& input : proto.input()) {
    TARTAN_RETURN_IF_ERROR(builder.AddInput(input.name()));
  }
  for (const TensorProto& tensor : proto.initializer()) {
    TARTAN_RETURN_IF_ERROR(builder.AddInitializer(tensor.name(), tensor));
  }
  for (const SparseTensorProto& tensor : proto.sparse_initializer()) {
    TARTAN_RETURN_IF_ERROR(builder.AddInitializer(tensor.values().name(), tensor));
  }
  TARTAN_RETURN_IF_ERROR(builder.AddNodes(proto.node()));
  std::vector<std::string> outputs;
  for (const ValueInfoProto& output : proto.output()) outputs.push_back(output.name());
  TARTAN_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph,
                          std::move(builder).Finish(proto.name(), std::move(outputs)));
  for (const auto* values : {&proto.value_info(), &proto.output()}) {
    for (const ValueInfoProto& value : *values) RecordDeclaredDims(value, graph.get());
  }
  return graph;
}

absl::StatusOr<std::unique_ptr<const Graph>> BuildFunctionBody(const FunctionProto& proto,
                                                               const TensorSource& source) {
  GraphBuilder builder(source);
  for (const std::string& input : proto.input()) TARTAN_RETURN_IF_ERROR(builder.AddInput(input));
  TARTAN_RETURN_IF_ERROR(builder.AddNodes(proto.node()));
  return std::move(builder).Finish(proto.name(), {proto.output().begin(), proto.output().end()});
}

absl::Status Within(absl::string_view where, const absl::Status& status) {
  const absl::string_view message = status.message();
  if (message.size() <= kLongestMessage) {
    return absl::Status(status.code(), absl::StrCat(where, ": ", message));
  }
  // Keeps the outermost places and the innermost ones, which the cause follows.
  return absl::Status(status.code(),
                      absl::StrCat(where, ": ", message.substr(0, kLongestMessage / 3), " ... ",
                                   message.substr(message.size() - kLongestMessage / 2)));
}

absl::Status CheckNothingCaptured(const Graph& graph) {
  if (graph.captured.empty()) return absl::OkStatus();
  const auto& [name, reader] = *graph.captured.begin();
  return absl::InvalidArgumentError(absl::StrCat(
      reader, ": '", name, "' is neither an input, nor an initialiser, nor the output of a node"));
}

std::string LabelOf(const NodeProto& node) {
  if (!node.name().empty()) return Printable(node.name());
  for (const std::string& output : node.output()) {
    if (!output.empty()) return Printable(output);
  }
  return Printable(node.op_type());
}

std::string Describe(const NodeProto& node) {
  return absl::StrCat(node.name().empty() ? "-> " : "", LabelOf(node), " (",
                      Printable(node.op_type()), ")");
}

absl::string_view NormalDomain(absl::string_view domain) {
  return domain == "ai.onnx" ? absl::string_view() : domain;
}

absl::StatusOr<api::HostValue> ConstantFromAttribute(const AttributeProto& attribute,
                                                     const TensorSource& source) {
  const std::string& name = attribute.name();
  if (name == "value") return ToHostValue(attribute.t(), source);
  if (name == "sparse_value") return ToHostTensor(attribute.sparse_tensor(), source);
  const bool is_scalar = name == "value_float" || name == "value_int";
  if (name == "value_float" || name == "value_floats") {
    std::vector<float> values(attribute.floats().begin(), attribute.floats().end());
    if (is_scalar) values = {attribute.f()};
    return VectorTensor(DataType::kFloat32, values, is_scalar);
  }
  if (name == "value_int" || name == "value_ints") {
    std::vector<int64_t> values(attribute.ints().begin(), attribute.ints().end());
    if (is_scalar) values = {attribute.i()};
    return VectorTensor(DataType::kInt64, values, is_scalar);
  }
  if (name == "value_string") return api::HostStrings({}, {attribute.s()});
  if (name == "value_strings") {
    const std::vector<std::string> strings(attribute.strings().begin(), attribute.strings().end());
    return api::HostStrings({static_cast<int64_t>(strings.size())}, strings);
  }
  return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' is not a constant"));
}

}  // namespace tartan::onnx
