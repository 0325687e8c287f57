// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/onnx/naive_resolver.h"

#include <algorithm>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "frontend/api/composer.h"
#include "frontend/api/repeat.h"
#include "frontend/api/tensor_node.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

absl::Status TooMuch(absl::string_view of) {
  return absl::ResourceExhaustedError(absl::StrCat("too many ", of, " to try"));
}

// The number of nodes that compute the outputs.
int64_t CountNodes(absl::Span<const api::Tensor> outputs) {
  std::unordered_set<const api::TensorNode*> seen;
  std::vector<api::Tensor> stack(outputs.begin(), outputs.end());
  while (!stack.empty()) {
    const api::Tensor next = std::move(stack.back());
    stack.pop_back();
    if (!seen.insert(next.node().get()).second) continue;
    for (const api::NodeResult& input : api::InputsOf(*next.node())) stack.push_back(input);
  }
  return static_cast<int64_t>(seen.size());
}

// Evaluates requested tensors at once.
class NaiveResolver final : public api::Resolver {
 public:
  NaiveResolver(absl::Span<const api::HostValue> inputs, const NaiveLimits& limits)
      : inputs_(inputs), limits_(limits) {}

  void Begin(absl::Span<const api::Tensor> placeholders) override {
    for (size_t i = 0; i < placeholders.size(); ++i) {
      if (!placeholders[i].defined()) continue;
      placeholders_.push_back(placeholders[i]);
      values_.push_back(inputs_[i].tensor());
    }
  }

  absl::StatusOr<api::BreakResult> Resolve(const api::GraphBreak& graph_break) override {
    if (++breaks_ > limits_.breaks) return TooMuch("graph breaks");
    std::vector<api::Tensor> wanted = graph_break.operands;
    wanted.insert(wanted.end(), graph_break.kept.begin(), graph_break.kept.end());
    TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> values, Evaluate(wanted));
    const auto first_kept = values.begin() + static_cast<int64_t>(graph_break.operands.size());
    std::vector<HostTensor> results(values.begin(), first_kept);
    if (graph_break.call != nullptr) {
      api::NaiveRunner runner(limits_.iterations, limits_.points_in_all);
      TARTAN_ASSIGN_OR_RETURN(results, graph_break.call->Run(results, runner));
      // NonZero of the indices from another NonZero has more elements, so chains of NonZero grow.
      for (const HostTensor& result : results) {
        if (result.element_count() > limits_.points) return TooMuch("elements");
      }
    }
    api::BreakResult result;
    for (const HostTensor& value : results) {
      result.results.push_back(graph_break.call == nullptr ? api::Tensor::Constant(value)
                                                           : Known(graph_break.name, value));
    }
    for (auto kept = first_kept; kept != values.end(); ++kept) {
      result.kept.push_back(Known("kept", *kept));
    }
    return result;
  }

  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const api::Tensor> tensors) const {
    const int64_t nodes = CountNodes(tensors);
    const int64_t points =
        std::min(limits_.points, limits_.points_in_all / std::max<int64_t>(nodes, 1));
    return api::EvaluateReference(placeholders_, values_, tensors, points);
  }

 private:
  api::Tensor Known(const std::string& name, const HostTensor& value) {
    placeholders_.push_back(api::Tensor::Placeholder(name, value.shape()));
    values_.push_back(value);
    return placeholders_.back();
  }

  const absl::Span<const api::HostValue> inputs_;  // in the order of the model's inputs
  const NaiveLimits limits_;
  std::vector<api::Tensor> placeholders_;
  std::vector<HostTensor> values_;  // one per placeholder
  int breaks_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<api::HostValue>> BindAndEvaluate(const OnnxModel& model,
                                                            absl::Span<const api::HostValue> values,
                                                            std::vector<api::InputBinding> bindings,
                                                            const NaiveLimits& limits) {
  while (true) {
    NaiveResolver resolver(values, limits);
    TARTAN_ASSIGN_OR_RETURN(const api::BoundGraph bound, model.Bind(bindings, &resolver));
    for (int input : bound.needed_values) {
      const size_t i = static_cast<size_t>(input);
      if (bindings[i].value != nullptr) return absl::InternalError("a value is asked for again");
      bindings[i].value = &values[i];
    }
    if (!bound.needed_values.empty()) continue;
    std::vector<api::Tensor> tensors;
    for (const api::Value& output : bound.outputs) api::AppendTensors(output, &tensors);
    TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> made, resolver.Evaluate(tensors));
    absl::Span<const HostTensor> rest = made;
    std::vector<api::HostValue> outputs;
    for (const api::Value& output : bound.outputs) outputs.push_back(api::Replace(output, &rest));
    return outputs;
  }
}

absl::StatusOr<std::vector<api::HostValue>> RunUnknown(const OnnxModel& model,
                                                       absl::Span<const api::HostValue> values) {
  std::vector<api::InputBinding> bindings(model.inputs().size());
  for (size_t i = 0; i < bindings.size(); ++i) {
    const api::TensorSpec& spec = model.inputs()[i];
    bindings[i].given = i < values.size();
    if (!bindings[i].given) continue;
    bindings[i].shape = values[i].tensor().shape();
    const bool is_plain = spec.is_tensor() && spec.element == api::Element::kPlain;
    if (!is_plain) bindings[i].value = &values[i];
  }
  return BindAndEvaluate(model, values, std::move(bindings));
}

}  // namespace tartan::onnx
