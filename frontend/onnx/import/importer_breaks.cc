// SPDX-License-Identifier: Apache-2.0
// Graph breaks: the resolution of values that the import needs, and the values kept across a break.
#include <algorithm>
#include <set>
#include <utility>

#include "frontend/api/composer.h"
#include "frontend/api/loop.h"
#include "frontend/api/repeat.h"
#include "frontend/onnx/import/importer.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

// Maximum elements of an integer or bool input that can hold sizes: the model is bound to its
// values.
constexpr int64_t kMaxSizes = 64;
// Maximum index points of a value computed on the host. Larger ones run on the device.
constexpr int64_t kMaxPointsOfValue = 1 << 22;
// Index points that are always allowed, so that arithmetic on sizes never fails.
constexpr int64_t kPointsOfSizes = 1 << 14;

bool MayHoldSizes(const Tensor& input) {
  return !IsFloat(input.type()) && input.shape().element_count() <= kMaxSizes;
}

bool Contains(absl::Span<const Tensor> tensors, const Tensor& tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

Value ReplaceTensors(const Value& value, absl::Span<const Tensor> tensors,
                     absl::Span<const Tensor> by) {
  std::vector<Tensor> inside;
  api::AppendTensors(value, &inside);
  for (Tensor& tensor : inside) {
    const auto found = std::find(tensors.begin(), tensors.end(), tensor);
    if (found != tensors.end()) tensor = by[static_cast<size_t>(found - tensors.begin())];
  }
  absl::Span<const Tensor> rest = inside;
  return api::Replace(value, &rest);
}

}  // namespace

// Records the placeholders whose values are needed.
absl::Status Importer::Wait(absl::Span<const Tensor> placeholders) {
  ++unresolved_;
  for (const Tensor& placeholder : placeholders) {
    if (!Contains(needed_, placeholder)) needed_.push_back(placeholder);
  }
  return absl::FailedPreconditionError("a value decides shapes and is not known yet");
}

OutputValues Importer::Known(absl::Span<const Slot> slots) {
  std::vector<Value> values;
  for (const Slot& slot : slots) {
    if (slot.waits) return Wait({});  // the needed values were recorded where the wait began
    values.push_back(slot.value);
  }
  return values;
}

absl::StatusOr<HostTensor> Importer::HostValue(const Tensor& tensor) {
  if (tensor.constant() != nullptr) return *tensor.constant();
  const std::vector<Tensor> placeholders = api::PlaceholdersOf(tensor);
  if (placeholders.empty()) {
    absl::StatusOr<HostTensor> value = Evaluate(tensor, kMaxPointsOfValue);
    if (!CanBeLeftToDevice(value.status())) return value;
  }
  const bool are_inputs =
      !placeholders.empty() && std::all_of(placeholders.begin(), placeholders.end(),
                                           [&](const Tensor& p) { return Contains(inputs_, p); });
  const bool are_sizes =
      are_inputs && std::all_of(placeholders.begin(), placeholders.end(), MayHoldSizes);
  if (body_depth_ > 0 && !are_sizes) {
    body_is_open_ = true;
    return absl::FailedPreconditionError("a value decides the body of a loop");
  }
  if (are_sizes || resolver_ == nullptr) return Wait(placeholders);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> values, Break("", {tensor}, nullptr));
  return *values[0].constant();
}

absl::StatusOr<HostTensor> Importer::Evaluate(const Tensor& tensor, int64_t max_points,
                                              bool* is_exact) {
  const int64_t given = std::max(std::min(max_points, host_points_left_), kPointsOfSizes);
  int64_t points = given;
  absl::StatusOr<HostTensor> value = api::EvaluateOnHost(tensor, &points, is_exact);
  host_points_left_ = std::max<int64_t>(host_points_left_ - (given - points), 0);
  return value;
}

Outputs Importer::RunOnHost(absl::Span<const Tensor> operands, const api::Call& call) {
  std::vector<HostTensor> values;
  for (const Tensor& operand : operands) {
    TARTAN_ASSIGN_OR_RETURN(values.emplace_back(), Evaluate(operand, kMaxPointsOfValue));
  }
  api::NaiveRunner runner(host_iterations_left_, host_points_left_);
  const absl::StatusOr<std::vector<HostTensor>> results = call.Run(values, runner);
  host_iterations_left_ = runner.iterations();
  host_points_left_ = runner.points();
  TARTAN_RETURN_IF_ERROR(results.status());
  std::vector<Tensor> constants;
  for (const HostTensor& result : *results) {
    host_points_left_ -= result.element_count();
    constants.push_back(Tensor::Constant(result));
  }
  if (host_points_left_ < 0) {
    host_points_left_ = 0;
    return absl::ResourceExhaustedError("the values computed at import grow too large");
  }
  return constants;
}

Outputs Importer::Run(const std::string& name, std::vector<Tensor> operands,
                      std::shared_ptr<const api::Call> call) {
  const std::vector<Tensor> placeholders = PlaceholdersOf(operands);
  if (placeholders.empty()) {
    Outputs results = RunOnHost(operands, *call);
    if (!CanBeLeftToDevice(results.status())) return results;
  }
  if (body_depth_ > 0) {
    body_is_open_ = true;
    return absl::FailedPreconditionError("a value decides the body of a loop");
  }
  const api::RepeatBody* const body = call->repeated();
  if (training_ != nullptr && body != nullptr && !body->condition.defined()) {
    return api::Loop(*body, std::move(operands), name);
  }
  if (resolver_ == nullptr) return Wait(placeholders);
  return Break(name, std::move(operands), std::move(call));
}

Outputs Importer::Break(const std::string& name, std::vector<Tensor> operands,
                        std::shared_ptr<const api::Call> call) {
  if (!needed_.empty()) return Wait({});  // the import starts again anyway
  api::GraphBreak graph_break{name, std::move(operands), std::move(call), TensorsToKeep()};
  TARTAN_ASSIGN_OR_RETURN(const api::BreakResult result, resolver_->Resolve(graph_break));
  ReplaceKept(graph_break.kept, result.kept);
  return result.results;
}

// The tensors that later nodes read and that handlers hold, as far as they are computed from
// placeholders.
std::vector<Tensor> Importer::TensorsToKeep() const {
  std::vector<Tensor> tensors;
  for (const Scope* scope = current_scope_; scope != nullptr; scope = scope->caller) {
    for (const auto& [name, slot] : scope->slots) {
      const auto last = scope->graph->last_use.find(name);
      if (last == scope->graph->last_use.end()) continue;
      // A node of an outer scope may read it again in the next iteration of its loop.
      const bool is_outer = scope != current_scope_;
      if (is_outer ? last->second >= scope->position : last->second > scope->position) {
        api::AppendTensors(slot.value, &tensors);
      }
    }
  }
  for (const std::vector<Value>* held : held_) {
    for (const Value& value : *held) api::AppendTensors(value, &tensors);
  }
  std::vector<Tensor> kept;
  for (const Tensor& tensor : tensors) {
    const bool is_computed = tensor.depends_on_placeholder() && !tensor.is_placeholder();
    if (is_computed && !Contains(kept, tensor)) kept.push_back(tensor);
  }
  return kept;
}

void Importer::ReplaceKept(absl::Span<const Tensor> tensors, absl::Span<const Tensor> by) {
  if (tensors.empty()) return;
  for (Scope* scope = current_scope_; scope != nullptr; scope = scope->caller) {
    for (auto& [name, slot] : scope->slots) slot.value = ReplaceTensors(slot.value, tensors, by);
  }
  for (std::vector<Value>* held : held_) {
    for (Value& value : *held) value = ReplaceTensors(value, tensors, by);
  }
}

OutputValues Importer::ImportSubgraph(const GraphProto& graph, absl::Span<const Value> inputs) {
  return ImportNested(graph, inputs, nullptr);
}

absl::StatusOr<std::optional<LoopBody>> Importer::ImportLoopBody(const GraphProto& graph,
                                                                 absl::Span<const Value> inputs) {
  LoopBody body;
  const bool was_open = std::exchange(body_is_open_, false);
  ++body_depth_;
  OutputValues outputs = ImportNested(graph, inputs, &body);
  --body_depth_;
  const bool is_open = std::exchange(body_is_open_, was_open);
  if (is_open) return std::optional<LoopBody>();
  TARTAN_RETURN_IF_ERROR(outputs.status());
  body.outputs = *std::move(outputs);
  return std::optional<LoopBody>(std::move(body));
}

absl::StatusOr<uint32_t> Importer::NextStream() {
  if (body_depth_ > 0) {
    body_is_open_ = true;
    return absl::FailedPreconditionError("random numbers differ from iteration to iteration");
  }
  return streams_++;
}

absl::StatusOr<Value> Importer::Reimport(const std::string& name,
                                         const std::map<std::string, Value>& given) {
  const Graph& graph = *current_scope_->graph;
  std::set<std::string> wanted = {name};
  std::vector<int> positions;  // of the nodes in between, in descending order
  for (int i = current_scope_->position - 1; i >= 0; --i) {
    const NodeProto& node = *graph.nodes[static_cast<size_t>(i)];
    const bool is_between =
        std::any_of(node.output().begin(), node.output().end(), [&](const std::string& output) {
          return wanted.count(output) != 0 && given.count(output) == 0;
        });
    if (!is_between) continue;
    positions.push_back(i);
    wanted.insert(node.input().begin(), node.input().end());
    for (const AttributeProto& attribute : node.attribute()) {
      const auto nested = graph.subgraphs.find(&attribute.g());
      if (nested == graph.subgraphs.end()) continue;
      for (const auto& [captured, reader] : nested->second->captured) wanted.insert(captured);
    }
  }
  TARTAN_RETURN_IF_ERROR(CountRepeated(static_cast<int64_t>(positions.size())));
  Scope scope;
  scope.outer = current_scope_;
  scope.caller = current_scope_;
  scope.graph = &graph;
  for (const auto& [key, value] : given) scope.slots[key] = {value};
  for (auto i = positions.rbegin(); i != positions.rend(); ++i) {
    scope.position = *i;
    TARTAN_RETURN_IF_ERROR(
        ImportNode(*graph.nodes[static_cast<size_t>(*i)], *current_frame_, scope));
    for (const auto& [key, value] : given) scope.slots[key] = {value};
  }
  const std::unique_ptr<Slot> slot = scope.Find(name);
  if (slot == nullptr) return Invalid("there is no tensor '", name, "' before this node");
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Value> values, Known({*slot}));
  return values[0];
}

}  // namespace tartan::onnx
