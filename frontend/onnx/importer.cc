#include "frontend/onnx/importer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/composer.h"
#include "frontend/onnx/operator_table.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using api::Tensor;

// Results of constants up to this size are computed at once: the arithmetic of sizes.
constexpr int64_t kMaxFoldedElements = 4096;
// Operands beyond this size mark work on weights, which belongs to the device.
constexpr int64_t kMaxFoldedOperand = 1 << 16;
constexpr int kMaxCallDepth = 64;
// Functions that call functions grow exponentially; this many nodes of bodies is more than any
// model needs.
constexpr int64_t kMaxNodesOfCalls = 1 << 18;

int64_t OpsetOf(const Opsets& opsets, absl::string_view domain) {
  const auto found = opsets.find(NormalDomain(domain));
  if (found != opsets.end()) return found->second;
  return 1;
}

// "Foo, opset 11" or "com.example.Foo, opset 1".
std::string OperatorName(const NodeProto& node, int64_t opset) {
  const absl::string_view domain = NormalDomain(node.domain());
  return absl::StrCat(domain, domain.empty() ? "" : ".", node.op_type(), ", opset ", opset);
}

std::string WhatWeHave(const NodeProto& node) {
  const std::vector<int> versions = OperatorVersions(NormalDomain(node.domain()), node.op_type());
  if (versions.empty()) return "unknown operator";
  return absl::StrCat("supported from opset ", absl::StrJoin(versions, ", "), " on");
}

absl::Status CheckArity(const OperatorRow& row, absl::Span<const Tensor> inputs) {
  for (int i = 0; i < row.arity.least; ++i) {
    if (i >= static_cast<int>(inputs.size()) || !inputs[i].defined()) {
      return Invalid("operand ", i, " is missing");
    }
  }
  if (static_cast<int>(inputs.size()) > row.arity.most) {
    return Invalid(inputs.size(), " operands, at most ", row.arity.most, " are allowed");
  }
  return absl::OkStatus();
}

// Missing operators, each with the first node that uses it.
std::map<std::string, std::string> MissingOperators(const ModelParts& model) {
  std::map<std::string, std::string> missing;
  std::set<const LocalFunction*> seen;
  std::vector<std::pair<const Graph*, const Opsets*>> waiting = {
      {model.graph.get(), &model.opsets}};
  while (!waiting.empty()) {
    const auto [graph, opsets] = waiting.back();
    waiting.pop_back();
    for (const NodeProto* node : graph->nodes) {
      if (const LocalFunction* function = FindFunction(model, *node)) {
        const bool is_new = seen.insert(function).second;
        if (is_new) waiting.emplace_back(function->body.get(), &function->opsets);
        continue;
      }
      const int64_t opset = OpsetOf(*opsets, node->domain());
      const absl::string_view domain = NormalDomain(node->domain());
      if (FindOperator(domain, node->op_type(), opset) != nullptr) continue;
      missing.emplace(absl::StrCat("(", OperatorName(*node, opset), "): ", WhatWeHave(*node)),
                      LabelOf(*node));
    }
  }
  return missing;
}

}  // namespace

// Names to tensors. A name without a tensor waits for a value that Bind has yet to ask for.
struct Importer::Scope {
  const Scope* outer = nullptr;
  const Graph* graph = nullptr;
  std::unordered_map<std::string, Tensor> values;

  const Tensor* Find(const std::string& name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      if (const auto found = scope->values.find(name); found != scope->values.end()) {
        return &found->second;
      }
      const auto constant = scope->graph->constants.find(name);
      if (constant != scope->graph->constants.end()) return &constant->second;
    }
    return nullptr;
  }
};

// What holds for all nodes of one function body, or of the model's graph.
struct Importer::Frame {
  const Opsets* opsets = nullptr;
  // Of the call; null in the model's graph.
  const AttributeMap* attributes = nullptr;
  const LocalFunction* function = nullptr;
  const Frame* caller = nullptr;
  int depth = 0;
};

const LocalFunction* FindFunction(const ModelParts& model, const NodeProto& node) {
  const auto found = model.functions.find(
      {std::string(NormalDomain(node.domain())), node.op_type(), node.overload()});
  return found == model.functions.end() ? nullptr : &found->second;
}

absl::Status CheckOperators(const ModelParts& model) {
  const std::map<std::string, std::string> missing = MissingOperators(model);
  if (missing.empty()) return absl::OkStatus();
  const auto line = [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second, " ", entry.first);
  };
  return absl::UnimplementedError(absl::StrJoin(missing, "\n", line));
}

absl::StatusOr<std::vector<Tensor>> Importer::Import(absl::Span<const Tensor> inputs) {
  Frame frame;
  frame.opsets = &model_.opsets;
  return ImportGraph(*model_.graph, inputs, nullptr, frame);
}

absl::StatusOr<std::vector<Tensor>> Importer::ImportGraph(const Graph& graph,
                                                          absl::Span<const Tensor> inputs,
                                                          const Scope* outer, const Frame& frame) {
  if (inputs.size() > graph.inputs.size()) {
    return Invalid("graph '", graph.name, "' takes ", graph.inputs.size(), " inputs, got ",
                   inputs.size());
  }
  Scope scope;
  scope.outer = outer;
  scope.graph = &graph;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string& name = graph.inputs[i];
    if (i < inputs.size() && inputs[i].defined()) {
      scope.values[name] = inputs[i];
    } else if (graph.constants.count(name) == 0 && frame.attributes == nullptr) {
      return Invalid("input '", name, "' of graph '", graph.name, "' is missing");
    }
  }
  for (const NodeProto* node : graph.nodes) {
    TARTAN_RETURN_IF_ERROR(ImportNode(*node, frame, scope));
  }
  std::vector<Tensor> outputs;
  for (const std::string& name : graph.outputs) {
    const Tensor* value = scope.Find(name);
    if (value == nullptr) return Invalid("output '", name, "' is made by no node");
    outputs.push_back(*value);
  }
  return outputs;
}

absl::Status Importer::ImportNode(const NodeProto& node, const Frame& frame, Scope& scope) {
  std::vector<Tensor> inputs;
  bool waits = false;
  for (const std::string& name : node.input()) {
    const Tensor* value = name.empty() ? nullptr : scope.Find(name);
    inputs.push_back(value == nullptr ? Tensor() : *value);
    waits |= value != nullptr && !value->defined();
  }
  while (!inputs.empty() && !inputs.back().defined()) inputs.pop_back();
  const int unanswered = unanswered_;
  absl::StatusOr<std::vector<Tensor>> outputs = std::vector<Tensor>();
  if (!waits) {
    const Graph* graph = std::exchange(current_graph_, scope.graph);
    const Scope* outer = std::exchange(current_scope_, &scope);
    const Frame* caller = std::exchange(current_frame_, &frame);
    const LocalFunction* function = FindFunction(model_, node);
    outputs = function != nullptr ? CallFunction(*function, node, inputs, frame)
                                  : ImportOperator(node, std::move(inputs), frame);
    current_graph_ = graph;
    current_scope_ = outer;
    current_frame_ = caller;
    waits = unanswered_ > unanswered;
  }
  if (!waits && !outputs.ok()) {
    return absl::Status(
        outputs.status().code(),
        absl::StrCat(LabelOf(node), " (", OperatorName(node, OpsetOf(*frame.opsets, node.domain())),
                     "): ", outputs.status().message()));
  }
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    if (name.empty()) continue;
    const bool is_made = !waits && i < static_cast<int>(outputs->size());
    if (!waits && (!is_made || !(*outputs)[i].defined())) {
      return Unsupported(Describe(node), ": output ", i, " ('", name, "')");
    }
    scope.values[name] = is_made ? (*outputs)[i] : Tensor();
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> Importer::ImportOperator(const NodeProto& node,
                                                             std::vector<Tensor> inputs,
                                                             const Frame& frame) {
  const int64_t opset = OpsetOf(*frame.opsets, node.domain());
  const OperatorRow* row = FindOperator(NormalDomain(node.domain()), node.op_type(), opset);
  if (row == nullptr) return absl::UnimplementedError(WhatWeHave(node));
  TARTAN_RETURN_IF_ERROR(CheckArity(*row, inputs));
  NodeContext context(node, opset, inputs, frame.attributes, this);
  // All at once, so that one more Bind suffices.
  absl::Status host_status;
  for (int i = 0; i < context.input_count() && i < 32; ++i) {
    if ((row->host_operands >> i & 1) == 0 || !context.HasInput(i)) continue;
    absl::StatusOr<HostTensor> value = context.HostValue(i);
    if (value.ok()) {
      context.SetInput(i, Tensor::Constant(*std::move(value)));
    } else {
      host_status.Update(value.status());
    }
  }
  TARTAN_RETURN_IF_ERROR(host_status);
  if (row->lift != nullptr) TARTAN_RETURN_IF_ERROR(row->lift(context));
  absl::StatusOr<std::vector<Tensor>> outputs =
      row->tile != nullptr ? context.Apply(row->tile) : row->handler(context);
  if (!outputs.ok()) return outputs;
  for (Tensor& output : *outputs) output = Fold(std::move(output), inputs);
  return outputs;
}

absl::StatusOr<std::vector<Tensor>> Importer::CallFunction(const LocalFunction& function,
                                                           const NodeProto& node,
                                                           absl::Span<const Tensor> inputs,
                                                           const Frame& frame) {
  for (const Frame* outer = &frame; outer != nullptr; outer = outer->caller) {
    if (outer->function == &function) return Invalid("the function calls itself");
  }
  if (frame.depth >= kMaxCallDepth) {
    return Unsupported("functions call each other more than ", kMaxCallDepth, " deep");
  }
  nodes_of_calls_ += static_cast<int64_t>(function.body->nodes.size());
  if (nodes_of_calls_ > kMaxNodesOfCalls) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the model's functions grow to more than ", kMaxNodesOfCalls, " nodes"));
  }
  AttributeMap attributes;
  for (const AttributeProto& attribute : function.proto->attribute_proto()) {
    attributes[attribute.name()] = &attribute;
  }
  const NodeContext caller(node, 0, {}, frame.attributes, this);
  for (const AttributeProto& attribute : node.attribute()) {
    if (const AttributeProto* value = caller.Find(attribute.name())) {
      attributes[attribute.name()] = value;
    }
  }
  Frame callee;
  callee.opsets = &function.opsets;
  callee.attributes = &attributes;
  callee.function = &function;
  callee.caller = &frame;
  callee.depth = frame.depth + 1;
  return ImportGraph(*function.body, inputs, nullptr, callee);
}

Tensor Importer::Fold(Tensor tensor, absl::Span<const Tensor> inputs) const {
  if (!tensor.defined() || tensor.constant() != nullptr || tensor.is_placeholder()) return tensor;
  if (inputs.empty()) return tensor;
  if (tensor.shape().element_count() > kMaxFoldedElements) return tensor;
  for (const Tensor& input : inputs) {
    if (!input.defined()) continue;
    if (input.constant() == nullptr) return tensor;
    if (input.shape().element_count() > kMaxFoldedOperand) return tensor;
  }
  absl::StatusOr<HostTensor> value = api::EvaluateOnHost(tensor);
  return value.ok() ? Tensor::Constant(*std::move(value)) : tensor;
}

absl::StatusOr<HostTensor> Importer::HostValue(const Tensor& tensor) {
  if (tensor.constant() != nullptr) return *tensor.constant();
  const std::vector<Tensor> placeholders = api::PlaceholdersOf(tensor);
  if (placeholders.empty()) return api::EvaluateOnHost(tensor);
  ++unanswered_;
  for (const Tensor& placeholder : placeholders) {
    if (std::find(needed_.begin(), needed_.end(), placeholder) == needed_.end()) {
      needed_.push_back(placeholder);
    }
  }
  return absl::FailedPreconditionError("a value decides shapes and is not known yet");
}

absl::StatusOr<std::vector<Tensor>> Importer::ImportSubgraph(const GraphProto& graph,
                                                             absl::Span<const Tensor> inputs) {
  const auto found = current_graph_->subgraphs.find(&graph);
  if (found == current_graph_->subgraphs.end()) {
    return Unsupported("a graph passed to a function as an attribute");
  }
  return ImportGraph(*found->second, inputs, current_scope_, *current_frame_);
}

}  // namespace tartan::onnx
