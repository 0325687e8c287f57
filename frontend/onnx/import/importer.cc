// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import/importer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/composer.h"
#include "frontend/onnx/import/operator_table.h"
#include "frontend/onnx/import/prepare_elements.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Limits of constant folding, chosen for arithmetic on sizes (empirical).
// - kMaxFoldedElements: elements of the result.
// - kMaxFoldedOperand: elements of an operand. Larger ones are weights, which the device processes.
// - kMaxFoldedPoints: index points of the computation.
constexpr int64_t kMaxFoldedElements = 4096;
constexpr int64_t kMaxFoldedOperand = 1 << 16;
constexpr int64_t kMaxFoldedPoints = 1 << 18;
// Limits on the cost of an import, about seconds of work, which no well-formed model reaches
// (empirical).
constexpr int64_t kMaxRepeatedNodes = 1 << 15;  // imported nodes, added to the terms below
constexpr int64_t kMaxRepetition = 128;
constexpr int64_t kMaxRepetitionOfFunctions = 8;  // times the nodes of each function
// Cost per node of a called function: nested calls grow exponentially, iterations do not.
constexpr int64_t kCostOfCall = 4;
constexpr int64_t kMaxHostPoints = 1 << 25;
constexpr int64_t kMaxHostIterations = 1 << 14;

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

// "conv1 (Conv, opset 13)".
std::string NodeName(const NodeProto& node, int64_t opset) {
  return absl::StrCat(LabelOf(node), " (", OperatorName(node, opset), ")");
}

std::string SupportedVersions(const NodeProto& node) {
  const absl::string_view domain = NormalDomain(node.domain());
  if (const absl::string_view option = OptionWithout(domain); !option.empty()) {
    return absl::StrCat("this build has no operators of ", domain, " (CMake option ", option, ")");
  }
  const std::vector<int> versions = OperatorVersions(domain, node.op_type());
  if (versions.empty()) return "unknown operator";
  return absl::StrCat("supported from opset ", absl::StrJoin(versions, ", "), " on");
}

absl::Status CheckArity(const OperatorRow& row, absl::Span<const Value> inputs) {
  // The operands of an operator with any number of them have no positional meaning, so none may be
  // left out.
  const int least = row.arity.most == kAnyNumber
                        ? std::max(row.arity.least, static_cast<int>(inputs.size()))
                        : row.arity.least;
  for (int i = 0; i < least; ++i) {
    // An empty optional is an operand for handlers of values.
    if (i >= static_cast<int>(inputs.size()) ||
        (inputs[i].is_nothing() && row.value_handler == nullptr)) {
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
      missing.emplace(
          absl::StrCat("(", OperatorName(*node, opset), "): ", SupportedVersions(*node)),
          LabelOf(*node));
    }
  }
  return missing;
}

std::vector<Slot> SlotsOf(absl::Span<const Value> values) {
  std::vector<Slot> slots;
  for (const Value& value : values) slots.push_back(Slot{value});
  return slots;
}

}  // namespace

// The settings shared by all nodes of one function body, or of the model's graph.
struct Importer::Frame {
  const Opsets* opsets = nullptr;
  // Attributes of the call; null in the model's graph.
  const AttributeMap* attributes = nullptr;
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

Importer::Importer(const ModelParts& model, api::Resolver* resolver, const TrainingMode* training,
                   const DecodingMode* decoding)
    : model_(model),
      resolver_(resolver),
      training_(training),
      decoding_(decoding),
      repeated_nodes_left_(kMaxRepeatedNodes),
      host_points_left_(kMaxHostPoints),
      host_iterations_left_(kMaxHostIterations) {
  repeated_nodes_left_ += kMaxRepetition * static_cast<int64_t>(model.graph->nodes.size());
  for (const auto& [key, function] : model.functions) {
    repeated_nodes_left_ +=
        kMaxRepetitionOfFunctions * static_cast<int64_t>(function.body->nodes.size());
  }
}

absl::Status Importer::CountRepeated(int64_t nodes) {
  repeated_nodes_left_ -= nodes;
  if (repeated_nodes_left_ >= 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      "the graph grows too large: functions that call functions, or iterations of loops");
}

OutputValues Importer::Import(absl::Span<const Value> inputs) {
  for (const Value& input : inputs) {
    if (input.is_tensor() && input.tensor().is_placeholder()) inputs_.push_back(input.tensor());
  }
  Frame frame;
  frame.opsets = &model_.opsets;
  Scope scope;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Slot> slots,
                          ImportGraph(*model_.graph, SlotsOf(inputs), scope, frame));
  std::vector<Value> outputs;
  for (const Slot& slot : slots) outputs.push_back(slot.value);
  for (const std::string& name :
       training_ == nullptr ? std::vector<std::string>() : training_->outputs) {
    const std::unique_ptr<Slot> slot = scope.Find(name);
    if (slot == nullptr)
      return absl::NotFoundError(absl::StrCat("no node computes the value '", name, "'"));
    outputs.push_back(slot->value);
  }
  return outputs;
}

absl::StatusOr<std::vector<Slot>> Importer::ImportGraph(const Graph& graph,
                                                        absl::Span<const Slot> inputs, Scope& scope,
                                                        const Frame& frame) {
  if (inputs.size() > graph.inputs.size()) {
    return Invalid("graph '", graph.name, "' takes ", graph.inputs.size(), " inputs, got ",
                   inputs.size());
  }
  scope.graph = &graph;
  scope.caller = current_scope_;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string& name = graph.inputs[i];
    const bool has_default = graph.constants.count(name) > 0;
    const bool is_there = i < inputs.size();
    if (is_there && (!has_default || inputs[i].waits || !inputs[i].value.is_nothing())) {
      scope.slots[name] = inputs[i];
    } else if (!has_default && frame.attributes == nullptr) {
      return Invalid("input '", name, "' of graph '", graph.name, "' is missing");
    }
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    scope.position = static_cast<int>(i);
    TARTAN_RETURN_IF_ERROR(ImportNode(*graph.nodes[i], frame, scope));
  }
  std::vector<Slot> outputs;
  for (const std::string& name : graph.outputs) {
    const std::unique_ptr<Slot> slot = scope.Find(name);
    if (slot == nullptr) return Invalid("output '", name, "' is not computed by any node");
    outputs.push_back(*slot);
  }
  return outputs;
}

absl::Status Importer::ImportNode(const NodeProto& node, const Frame& frame, Scope& scope) {
  std::vector<Slot> inputs;
  for (const std::string& name : node.input()) {
    const std::unique_ptr<Slot> slot = name.empty() ? nullptr : scope.Find(name);
    inputs.push_back(slot == nullptr ? Slot() : *slot);
  }
  Scope* const outer = std::exchange(current_scope_, &scope);
  const Frame* const caller = std::exchange(current_frame_, &frame);
  path_.emplace_back(&node, OpsetOf(*frame.opsets, node.domain()));
  absl::StatusOr<std::vector<Slot>> outputs = ImportCall(node, inputs, frame);
  path_.pop_back();
  current_scope_ = outer;
  current_frame_ = caller;
  // A check that failed while a graph break was resolved reports its own place.
  if (absl::IsOutOfRange(outputs.status())) return outputs.status();
  if (!outputs.ok()) {
    return Within(NodeName(node, OpsetOf(*frame.opsets, node.domain())), outputs.status());
  }
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    if (name.empty()) continue;
    if (i >= static_cast<int>(outputs->size())) {
      return Unsupported(Describe(node), ": the node has a result ", i, " ('", name,
                         "'), but only ", outputs->size(), " are computed for this operator");
    }
    scope.slots[name] = (*outputs)[i];
    TARTAN_RETURN_IF_ERROR(CheckDeclared(node, name, (*outputs)[i], scope));
    TARTAN_RETURN_IF_ERROR(DropElements(name, &scope.slots[name]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Slot>> Importer::ImportCall(const NodeProto& node,
                                                       absl::Span<const Slot> inputs,
                                                       const Frame& frame) {
  if (const LocalFunction* function = FindFunction(model_, node)) {
    return CallFunction(*function, node, inputs, frame);
  }
  const std::vector<Slot> waiting(static_cast<size_t>(node.output_size()), Slot{Value(), true});
  std::vector<Value> values;
  for (const Slot& input : inputs) {
    if (input.waits) return waiting;
    values.push_back(input.value);
  }
  const int unresolved = unresolved_;
  OutputValues outputs = ImportOperator(node, std::move(values), frame);
  if (unresolved_ > unresolved) return waiting;
  TARTAN_RETURN_IF_ERROR(outputs.status());
  return SlotsOf(*outputs);
}

OutputValues Importer::ImportOperator(const NodeProto& node, std::vector<Value> inputs,
                                      const Frame& frame) {
  int64_t opset = OpsetOf(*frame.opsets, node.domain());
  const OperatorRow* row = FindOperator(NormalDomain(node.domain()), node.op_type(), opset);
  if (row == nullptr) return absl::UnimplementedError(SupportedVersions(node));
  opset = std::max<int64_t>(opset, row->since_version);
  // Handlers of values distinguish an operand left out at the end from an empty optional.
  while (!inputs.empty() && inputs.back().is_nothing() &&
         (row->value_handler == nullptr || node.input(inputs.size() - 1).empty())) {
    inputs.pop_back();
  }
  TARTAN_RETURN_IF_ERROR(CheckArity(*row, inputs));
  NodeContext context(node, opset, inputs, frame.attributes, this);
  // All operands are resolved before the first error returns, so that one more Bind is enough.
  absl::Status host_status;
  for (int i = 0; i < context.input_count() && i < 32; ++i) {
    if ((row->host_operands >> i & 1) == 0 || !context.value(i).is_tensor()) continue;
    absl::StatusOr<HostTensor> value = context.HostValue(i);
    if (value.ok()) {
      context.SetInput(i, context.value(i).With(Tensor::Constant(*std::move(value))));
    } else {
      host_status.Update(value.status());
    }
  }
  TARTAN_RETURN_IF_ERROR(host_status);
  if (row->value_handler != nullptr) {
    TARTAN_ASSIGN_OR_RETURN(std::vector<Value> values, row->value_handler(context));
    for (Value& value : values) {
      if (value.is_tensor()) value = value.With(Fold(value.tensor(), inputs));
    }
    return values;
  }
  TARTAN_ASSIGN_OR_RETURN(const int special, PrepareElements(*row, context));
  if (row->lift != nullptr) TARTAN_RETURN_IF_ERROR(row->lift(context));
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> made,
                          row->tile != nullptr ? context.Apply(row->tile) : row->handler(context));
  std::vector<Value> outputs;
  for (Tensor& tensor : made) {
    if (!tensor.defined()) {
      outputs.push_back(Value());
      continue;
    }
    Tensor folded = Fold(std::move(tensor), inputs);
    const bool is_moved = special >= 0 && row->elements == ElementUse::kMoved;
    outputs.push_back(is_moved ? context.value(special).With(std::move(folded))
                               : Value(std::move(folded)));
  }
  return outputs;
}

absl::StatusOr<std::vector<Slot>> Importer::CallFunction(const LocalFunction& function,
                                                         const NodeProto& node,
                                                         absl::Span<const Slot> inputs,
                                                         const Frame& frame) {
  if (!called_.insert(&function).second) return Invalid("the function calls itself");
  const absl::Cleanup leave = [&] { called_.erase(&function); };
  TARTAN_RETURN_IF_ERROR(
      CountRepeated(kCostOfCall * static_cast<int64_t>(function.body->nodes.size())));
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
  Scope scope;
  return ImportGraph(*function.body, inputs, scope, callee);
}

std::string Importer::Place() const {
  return absl::StrJoin(path_, ": ", [](std::string* out, const auto& step) {
    absl::StrAppend(out, NodeName(*step.first, step.second));
  });
}

Tensor Importer::Fold(Tensor tensor, absl::Span<const Value> inputs) {
  if (tensor.constant() != nullptr || tensor.is_placeholder()) return tensor;
  if (inputs.empty() || tensor.depends_on_placeholder()) return tensor;
  if (tensor.shape().element_count() > kMaxFoldedElements) return tensor;
  for (const Value& input : inputs) {
    if (!input.is_tensor()) continue;
    if (input.tensor().constant() == nullptr) return tensor;
    if (input.tensor().shape().element_count() > kMaxFoldedOperand) return tensor;
  }
  bool is_exact = true;
  absl::StatusOr<HostTensor> value = Evaluate(tensor, kMaxFoldedPoints, &is_exact);
  return value.ok() && is_exact ? Tensor::Constant(*std::move(value)) : tensor;
}

OutputValues Importer::ImportNested(const GraphProto& graph, absl::Span<const Value> inputs,
                                    LoopBody* captures) {
  const auto found = current_scope_->graph->subgraphs.find(&graph);
  if (found == current_scope_->graph->subgraphs.end()) {
    return Unsupported("a graph passed to a function as an attribute");
  }
  TARTAN_RETURN_IF_ERROR(CountRepeated(static_cast<int64_t>(found->second->nodes.size())));
  TARTAN_RETURN_IF_ERROR(CheckNewNames(*found->second, *current_scope_));
  Scope scope;
  scope.outer = current_scope_;
  scope.captures = captures;
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Slot> outputs,
                          ImportGraph(*found->second, SlotsOf(inputs), scope, *current_frame_));
  return Known(outputs);
}

}  // namespace tartan::onnx
