// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/resident/state_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/resident/bind_plain.h"
#include "tile/base/clock.h"
#include "tile/base/status_macros.h"

namespace tartan::api {

absl::Status StateRunner::Pair(const std::vector<StatePair>& pairs) {
  is_state_input.assign(model->inputs().size(), false);
  is_state_output.assign(model->outputs().size(), false);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<StatePlaces> places, FindStates(*model, pairs));
  for (const StatePlaces& place : places) {
    is_state_input[place.input] = is_state_output[place.output] = true;
    states.push_back({place.output, place.input, std::nullopt, DeviceTensor()});
  }
  for (size_t i = 0; i < is_state_input.size(); ++i) {
    by_value.push_back(!model->inputs()[i].is_tensor() ||
                       model->inputs()[i].element != Element::kPlain);
  }
  ListFree();
  return absl::OkStatus();
}

void StateRunner::ListFree() {
  std::vector<StatePlaces> taken;
  for (const State& state : states) taken.push_back({state.output, state.input});
  FreeValues free = FreeOf(*model, taken);
  inputs = std::move(free.inputs);
  outputs = std::move(free.outputs);
}

absl::Status StateRunner::BindMemory(const std::string& name, DeviceTensor memory) {
  if (!memory.defined())
    return absl::InvalidArgumentError("the device tensor is undefined: no memory to bind");
  State bound_to;
  const auto find = [&](const std::vector<TensorSpec>& specs) {
    const auto found = std::find_if(specs.begin(), specs.end(),
                                    [&](const TensorSpec& spec) { return spec.name == name; });
    return found == specs.end() ? kNone : static_cast<size_t>(found - specs.begin());
  };
  bound_to.input = find(model->inputs());
  if (bound_to.input == kNone) bound_to.output = find(model->outputs());
  if (bound_to.input == kNone && bound_to.output == kNone) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has no input or output '", name, "'"));
  }
  const bool is_input = bound_to.input != kNone;
  TARTAN_RETURN_IF_ERROR(
      CheckMemory(is_input ? model->inputs()[bound_to.input] : model->outputs()[bound_to.output],
                  memory.shape()));
  bound_to.device = std::move(memory);
  for (Bound& one : bound) one.is_bound = false;
  for (State& state : states) {
    if ((is_input ? state.input : state.output) != (is_input ? bound_to.input : bound_to.output)) {
      continue;
    }
    if (!state.is_callers()) {
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' is a state"));
    }
    state = std::move(bound_to);
    return absl::OkStatus();
  }
  (is_input ? is_state_input[bound_to.input] : is_state_output[bound_to.output]) = true;
  states.push_back(std::move(bound_to));
  bound.clear();  // they were bound with fewer states
  ListFree();
  return absl::OkStatus();
}

absl::StatusOr<StateRunner::Values> StateRunner::Arrange(
    const std::map<std::string, HostTensor>& given) const {
  Values values(model->inputs().size(), nullptr);
  size_t used = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (is_state_input[i]) continue;
    const TensorSpec& spec = model->inputs()[i];
    const auto found = given.find(spec.name);
    if (found != given.end()) {
      ++used;
      TARTAN_RETURN_IF_ERROR(CheckAgainstSpec(spec, found->second));
      values[i] = &found->second;
    } else if (!spec.is_optional) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", spec.name, "' is missing: ", spec.ToString()));
    }
  }
  if (used == given.size()) return values;
  for (const auto& entry : given) {
    const std::string& name = entry.first;
    const auto is_named = [&](const TensorSpec& spec) { return spec.name == name; };
    if (std::any_of(inputs.begin(), inputs.end(), is_named)) continue;
    const auto& all = model->inputs();
    if (std::any_of(all.begin(), all.end(), is_named)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", name, "' is a state or bound to memory: it takes no other value"));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the model has no input '", name, "'; it has ",
                     absl::StrJoin(inputs, ", ", [](std::string* out, const TensorSpec& spec) {
                       absl::StrAppend(out, spec.name);
                     })));
  }
  return absl::InternalError("an input was not found");
}

absl::Status StateRunner::Begin(const Values& values) {
  for (State& state : states) {
    if (state.host || state.device.defined()) continue;
    TARTAN_ASSIGN_OR_RETURN(const TensorShape shape, FirstShape(*model, state.input, values));
    state.host = HostTensor::Zeros(shape);
    state.first_sizes = shape.dims;
  }
  return absl::OkStatus();
}

std::string StateRunner::KeyOf(const Values& values) const {
  std::string key;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == nullptr) {
      absl::StrAppend(&key, "-;");
    } else if (by_value[i]) {
      AppendKey(*values[i], &key);
    } else {
      absl::StrAppend(&key, values[i]->shape().ToString(), ";");
    }
  }
  for (const State& state : states) absl::StrAppend(&key, ShapeOf(state).ToString(), ";");
  return key;
}

absl::StatusOr<std::unique_ptr<DeviceProgram>> StateRunner::Make(const Values& values,
                                                                 std::vector<size_t>* fed,
                                                                 RunStatistics* statistics) {
  const auto start = Clock::now();
  std::vector<InputBinding> bindings(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    bindings[i].given = values[i] != nullptr;
    if (values[i] != nullptr) bindings[i].shape = values[i]->shape();
  }
  for (const State& state : states) {
    if (state.input == kNone) continue;
    bindings[state.input].given = true;
    bindings[state.input].shape = ShapeOf(state);
  }
  TARTAN_ASSIGN_OR_RETURN(const std::optional<BoundGraph> bound_graph,
                          BindPlain(*model, std::move(bindings), values, &by_value));
  statistics->bind_ms += MillisecondsSince(start);
  if (!bound_graph) return std::unique_ptr<DeviceProgram>();
  const BoundGraph& graph = *bound_graph;

  ProgramGraph source;
  for (const State& state : states) {
    const Tensor past = state.input == kNone ? Tensor::Placeholder("memory", ShapeOf(state))
                                             : graph.placeholders[state.input];
    const Tensor next = state.output == kNone ? Tensor() : graph.outputs[state.output].tensor();
    if (state.input == kNone && next.shape() != past.shape()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the output '", model->outputs()[state.output].name, "' is ", next.shape().ToString(),
          ", but the memory bound to it is ", past.shape().ToString()));
    }
    if (!past.defined() || (next.defined() && next.shape() != past.shape())) return nullptr;
    source.states.push_back({past, next});
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == nullptr || is_state_input[i] || !graph.placeholders[i].defined()) continue;
    source.inputs.push_back(graph.placeholders[i]);
    fed->push_back(i);
  }
  for (size_t o = 0; o < graph.outputs.size(); ++o) {
    if (!is_state_output[o]) source.outputs.push_back(graph.outputs[o].tensor());
  }
  source.name = model->name();
  return DeviceProgram::Create(*programs, std::move(source), statistics);
}

absl::StatusOr<StateRunner::Bound*> StateRunner::Get(const Values& values,
                                                     RunStatistics* statistics) {
  const std::string key = KeyOf(values);
  const auto found =
      std::find_if(bound.begin(), bound.end(), [&](const Bound& one) { return one.key == key; });
  if (found != bound.end()) {
    bound.splice(bound.begin(), bound, found);
    return &bound.front();
  }
  Bound made;
  absl::StatusOr<std::unique_ptr<DeviceProgram>> program = Make(values, &made.fed, statistics);
  if (program.ok()) {
    made.program = *std::move(program);
  } else if (!absl::IsUnimplemented(program.status())) {
    return program.status();
  }
  made.key = KeyOf(values);  // computed again: Make may have found more inputs that decide shapes
  bound.push_front(std::move(made));
  if (static_cast<int>(bound.size()) > options.max_signatures) bound.pop_back();
  return &bound.front();
}

absl::StatusOr<std::vector<HostTensor>> StateRunner::RunOnDevice(
    Bound& program, const Values& values, RunStatistics* statistics,
    std::vector<KernelProfile>* profile) {
  const auto start = Clock::now();
  for (State& state : states) {
    if (!state.host) continue;
    if (state.device.defined() && state.device.shape() == state.host->shape()) {
      TARTAN_RETURN_IF_ERROR(state.device.Assign(*state.host));
    } else {
      TARTAN_ASSIGN_OR_RETURN(state.device, DeviceTensor::FromHost(*device, *state.host));
      for (Bound& one : bound) one.is_bound = false;
    }
    state.host.reset();
  }
  if (!program.is_bound) {
    std::vector<DeviceTensor> memory;
    for (const State& state : states) memory.push_back(state.device);
    TARTAN_RETURN_IF_ERROR(program.program->Bind(std::move(memory)));
    program.is_bound = true;
  }
  std::vector<HostTensor> fed;
  for (const size_t input : program.fed) fed.push_back(*values[input]);
  TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> results,
                          program.program->Run(fed, statistics, profile));
  statistics->latency_ms = MillisecondsSince(start);
  return results;
}

absl::StatusOr<std::vector<HostTensor>> StateRunner::RunThroughHost(
    const Values& values, RunStatistics* statistics, std::vector<KernelProfile>* profile) {
  if (session == nullptr) {
    TARTAN_ASSIGN_OR_RETURN(session, Session::Create(model, device, options));
  }
  std::map<std::string, HostTensor> all;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != nullptr) all.emplace(model->inputs()[i].name, *values[i]);
  }
  for (State& state : states) {
    if (state.input == kNone) continue;
    if (!state.host) {
      TARTAN_ASSIGN_OR_RETURN(state.host, state.device.ToHost());
    }
    all.emplace(model->inputs()[state.input].name, *state.host);
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> results,
                          session->Run(all, statistics, profile));
  std::vector<HostTensor> left;
  for (size_t o = 0; o < results.size(); ++o) {
    if (!is_state_output[o]) left.push_back(results[o]);
  }
  for (State& state : states) {
    if (state.is_callers()) state.host.reset();
    if (state.output == kNone) continue;
    const HostTensor& next = results[state.output];
    if (state.is_callers()) {
      TARTAN_RETURN_IF_ERROR(state.device.Assign(next));
      continue;
    }
    TARTAN_RETURN_IF_ERROR(CheckAgainstSpec(model->inputs()[state.input], next));
    state.host = next;
  }
  return left;
}

absl::StatusOr<std::vector<HostTensor>> StateRunner::Run(
    const std::map<std::string, HostTensor>& given, RunStatistics* statistics,
    std::vector<KernelProfile>* profile) {
  TARTAN_ASSIGN_OR_RETURN(const Values values, Arrange(given));
  TARTAN_RETURN_IF_ERROR(Begin(values));
  TARTAN_ASSIGN_OR_RETURN(Bound* const program, Get(values, statistics));
  stays = program->program != nullptr;
  auto results = stays ? RunOnDevice(*program, values, statistics, profile)
                       : RunThroughHost(values, statistics, profile);
  // Values out of range are detected before anything runs, so the states are still valid.
  if (!results.ok() && stays && !absl::IsOutOfRange(results.status())) Reset();
  return results;
}

}  // namespace tartan::api
