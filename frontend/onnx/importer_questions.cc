// Values that the import needs and does not know: who is asked, and what is kept meanwhile.
#include <algorithm>
#include <utility>

#include "frontend/api/composer.h"
#include "frontend/api/repeat.h"
#include "frontend/onnx/importer.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using api::Tensor;
using api::Value;

// Inputs of at most as many integers or bools may be sizes: the model is bound to their values.
constexpr int64_t kMaxSizes = 64;

bool MayHoldSizes(const Tensor& input) {
  return !IsFloat(input.type()) && input.shape().element_count() <= kMaxSizes;
}

bool Contains(absl::Span<const Tensor> tensors, const Tensor& tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

std::vector<Tensor> PlaceholdersOf(absl::Span<const Tensor> tensors) {
  std::vector<Tensor> found;
  for (const Tensor& tensor : tensors) {
    for (Tensor& placeholder : api::PlaceholdersOf(tensor)) {
      if (!Contains(found, placeholder)) found.push_back(std::move(placeholder));
    }
  }
  return found;
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

// Notes that the values of placeholders are needed.
absl::Status Importer::Wait(absl::Span<const Tensor> placeholders) {
  ++unanswered_;
  for (const Tensor& placeholder : placeholders) {
    if (!Contains(needed_, placeholder)) needed_.push_back(placeholder);
  }
  return absl::FailedPreconditionError("a value decides shapes and is not known yet");
}

absl::StatusOr<HostTensor> Importer::HostValue(const Tensor& tensor) {
  if (tensor.constant() != nullptr) return *tensor.constant();
  const std::vector<Tensor> placeholders = api::PlaceholdersOf(tensor);
  if (placeholders.empty()) return api::EvaluateOnHost(tensor);
  const bool are_inputs = std::all_of(placeholders.begin(), placeholders.end(),
                                      [&](const Tensor& p) { return Contains(inputs_, p); });
  const bool are_sizes =
      are_inputs && std::all_of(placeholders.begin(), placeholders.end(), MayHoldSizes);
  if (body_depth_ > 0 && !are_sizes) {
    body_is_open_ = true;
    return absl::FailedPreconditionError("a value decides the body of a loop");
  }
  if (are_sizes || resolver_ == nullptr) return Wait(placeholders);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Tensor> answer, Ask("", {tensor}, nullptr));
  return *answer[0].constant();
}

absl::StatusOr<std::vector<Tensor>> Importer::Run(const std::string& name,
                                                  std::vector<Tensor> operands,
                                                  std::shared_ptr<const api::Call> call) {
  const std::vector<Tensor> placeholders = PlaceholdersOf(operands);
  if (placeholders.empty()) {
    std::vector<HostTensor> values;
    for (const Tensor& operand : operands) {
      TARTAN_ASSIGN_OR_RETURN(values.emplace_back(), api::EvaluateOnHost(operand));
    }
    api::NaiveRunner runner;
    TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> results, call->Run(values, runner));
    std::vector<Tensor> constants;
    for (HostTensor& result : results) constants.push_back(Tensor::Constant(std::move(result)));
    return constants;
  }
  if (body_depth_ > 0) {
    body_is_open_ = true;
    return absl::FailedPreconditionError("a value decides the body of a loop");
  }
  if (resolver_ == nullptr) return Wait(placeholders);
  return Ask(name, std::move(operands), std::move(call));
}

absl::StatusOr<std::vector<Tensor>> Importer::Ask(const std::string& name,
                                                  std::vector<Tensor> operands,
                                                  std::shared_ptr<const api::Call> call) {
  if (!needed_.empty()) return Wait({});  // the import begins again anyway
  api::Question question{name, std::move(operands), std::move(call), TensorsToKeep()};
  TARTAN_ASSIGN_OR_RETURN(const api::Answer answer, resolver_->Ask(question));
  ReplaceKept(question.kept, answer.kept);
  return answer.results;
}

// What nodes after this one read and what handlers hold, if it is computed from placeholders.
std::vector<Tensor> Importer::TensorsToKeep() const {
  std::vector<Tensor> tensors;
  for (const Scope* scope = current_scope_; scope != nullptr; scope = scope->caller) {
    for (const auto& [name, slot] : scope->slots) {
      const auto last = scope->graph->last_use.find(name);
      if (last == scope->graph->last_use.end()) continue;
      // A node of an outer scope may read it again in the next turn of its loop.
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

absl::StatusOr<std::vector<Value>> Importer::ImportSubgraph(const GraphProto& graph,
                                                            absl::Span<const Value> inputs) {
  return ImportNested(graph, inputs, nullptr);
}

absl::StatusOr<std::optional<LoopBody>> Importer::ImportLoopBody(
    const GraphProto& graph, absl::Span<const Value> inputs) {
  LoopBody body;
  const bool was_open = std::exchange(body_is_open_, false);
  ++body_depth_;
  absl::StatusOr<std::vector<Value>> outputs = ImportNested(graph, inputs, &body);
  --body_depth_;
  const bool is_open = std::exchange(body_is_open_, was_open);
  if (is_open) return std::optional<LoopBody>();
  TARTAN_RETURN_IF_ERROR(outputs.status());
  body.outputs = *std::move(outputs);
  return std::optional<LoopBody>(std::move(body));
}

}  // namespace tartan::onnx
