// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/cache_program.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {
namespace {

using api::Tensor;

// A model bound to a cache with spare capacity.
struct BoundStep {
  std::vector<api::InputBinding> bindings;
  std::vector<std::unique_ptr<api::HostValue>> values;  // inputs that decide the graph
  onnx::DecodingMode mode;
  api::BoundGraph graph;
};

void BindInputs(const onnx::OnnxModel& model, const std::map<std::string, HostTensor>& fed,
                BoundStep* step) {
  step->bindings.resize(model.inputs().size());
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const auto value = fed.find(model.inputs()[i].name);
    step->bindings[i].given = value != fed.end();
    if (value == fed.end()) continue;
    step->bindings[i].shape = value->second.shape();
    if (value->second.type() != DataType::kBool || value->second.element_count() != 1) continue;
    // Selects the branch of a merged model, whose first step uses another branch.
    step->values.push_back(std::make_unique<api::HostValue>(value->second));
    step->bindings[i].value = step->values.back().get();
  }
}

void BindState(const std::string& name, const GrowingState& state, BoundStep* step) {
  const TensorShape memory = state.WithRows(step->mode.capacity);
  const TensorShape before = state.WithRows(step->mode.capacity - step->mode.step);
  api::InputBinding& binding = step->bindings[state.place.input];
  binding.given = true;
  binding.shape = before;
  binding.tensor = Tensor::Placeholder(name, before);
  std::vector<onnx::DecodingMode::Cache>& caches = step->mode.caches;
  if (!state.is_joint()) {
    caches.push_back({binding.tensor, Tensor::Placeholder(name, memory)});
    return;
  }
  step->mode.joints.push_back({binding.tensor, caches.size()});
  for (const char* part : {"_keys", "_values"}) {
    caches.push_back({Tensor::Placeholder(name + part, PartOf(before)),
                      Tensor::Placeholder(name + part, PartOf(memory))});
  }
}

absl::Status Bind(const onnx::OnnxModel& model, BoundStep* step) {
  absl::StatusOr<api::BoundGraph> graph = model.BindToDecode(step->bindings, step->mode);
  // A model that does not fit a cache with spare capacity may still fit one without.
  if (absl::IsInvalidArgument(graph.status())) {
    return absl::UnimplementedError(graph.status().message());
  }
  TARTAN_ASSIGN_OR_RETURN(step->graph, std::move(graph));
  if (step->graph.needed_values.empty()) return absl::OkStatus();
  return absl::UnimplementedError("values known only at run time decide its graph");
}

// The states with their next values.
absl::StatusOr<std::vector<api::ProgramState>> NextStates(const CacheModel& model,
                                                          const BoundStep& step) {
  std::vector<api::ProgramState> next;
  for (const GrowingState& state : model.states) {
    const size_t parts = state.is_joint() ? 2 : 1;
    for (size_t p = 0; p < parts; ++p) {
      const onnx::DecodingMode::Cache& cache = step.mode.caches[next.size()];
      const api::Value& present = step.graph.outputs[state.place.output];
      // For a joint state, the values appended to its parts.
      const Tensor made = parts == 2            ? cache.appended
                          : present.is_tensor() ? present.tensor()
                                                : Tensor();
      if (!made.defined() || made.shape() != cache.memory.shape()) {
        return absl::UnimplementedError(
            absl::StrCat("'", model.model->outputs()[state.place.output].name,
                         "' is not its cache followed by the new rows"));
      }
      next.push_back({cache.memory, made});
    }
  }
  return next;
}

}  // namespace

TensorShape PartOf(TensorShape joint) {
  joint.dims.erase(joint.dims.begin());
  return joint;
}

std::vector<HostTensor> CacheProgram::Feed(const DecoderInputs& inputs,
                                           absl::Span<const int64_t> tokens, int64_t before,
                                           int64_t capacity) const {
  const std::map<std::string, HostTensor> values = inputs.Make(tokens, before, capacity);
  std::vector<HostTensor> given;
  for (const std::string& name : fed) given.push_back(values.at(name));
  given.push_back(
      HostTensor::FromVector<int32_t>({DataType::kInt32, {1}}, {static_cast<int32_t>(before)}));
  return given;
}

absl::StatusOr<CacheProgram> BindToCache(const CacheModel& model, int64_t capacity, int64_t count,
                                         bool has_scores) {
  const std::vector<api::TensorSpec>& inputs = model.model->inputs();
  BoundStep step;
  step.mode.capacity = capacity;
  step.mode.step = count;
  step.mode.length = Tensor::Placeholder("cache_length", {DataType::kInt32, {1}});
  const std::map<std::string, HostTensor> fed = model.inputs.Make(
      std::vector<int64_t>(static_cast<size_t>(count)), capacity - count, capacity);
  BindInputs(*model.model, fed, &step);
  for (const GrowingState& state : model.states) {
    BindState(inputs[state.place.input].name, state, &step);
  }
  TARTAN_RETURN_IF_ERROR(Bind(*model.model, &step));
  CacheProgram made;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& placeholder = step.graph.placeholders[i];
    if (fed.count(inputs[i].name) == 0 || !placeholder.defined()) continue;
    made.source.inputs.push_back(placeholder);
    made.fed.push_back(inputs[i].name);
  }
  made.source.inputs.push_back(step.mode.length);
  TARTAN_ASSIGN_OR_RETURN(made.source.states, NextStates(model, step));
  if (has_scores) made.source.outputs = {step.graph.outputs[model.scores_output].tensor()};
  made.source.name = model.model->name();
  return made;
}

}  // namespace tartan::generate
