// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/resident/state_session.h"

#include <algorithm>
#include <list>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/programs/loaded_programs.h"
#include "frontend/api/programs/model_inputs.h"
#include "frontend/api/resident/bind_plain.h"
#include "frontend/api/resident/device_program.h"
#include "tile/base/clock.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

absl::Status NoState(absl::string_view past) {
  return absl::InvalidArgumentError(absl::StrCat("the input '", past, "' is not a state"));
}

}  // namespace

struct StateSession::Impl {
  static constexpr size_t kNone = SIZE_MAX;

  // A state, or memory of the caller for one input or output; the other index is then kNone.
  struct State {
    size_t output = kNone;
    size_t input = kNone;
    std::optional<HostTensor> host;  // set if it is newer than `device`, or `device` is unset
    DeviceTensor device;
    std::vector<int64_t> first_sizes = {};  // shape when it began with zeros

    bool is_callers() const { return input == kNone || output == kNone; }
  };
  // A model bound to sizes; `program` is null if it cannot run with states on the device.
  struct Bound {
    std::string key;
    std::unique_ptr<DeviceProgram> program;
    std::vector<size_t> fed;  // indices of the inputs that the program is given
    bool is_bound = false;    // bound to the current memory of the states
  };

  std::shared_ptr<const Model> model;
  std::shared_ptr<Device> device;
  SessionOptions options;
  std::unique_ptr<LoadedPrograms> programs;
  std::unique_ptr<Session> session;  // runs the model if states cannot stay on the device
  std::vector<State> states;
  std::vector<bool> is_state_input, is_state_output;
  std::vector<TensorSpec> inputs, outputs;
  std::vector<bool> by_value;
  std::list<Bound> bound;  // the most recently used first
  bool stays = false;

  absl::Status Pair(const std::vector<StatePair>& pairs);
  void ListFree();
  absl::Status BindMemory(const std::string& name, DeviceTensor memory);
  absl::Status Begin(const InputValues& values);
  TensorShape ShapeOf(const State& state) const {
    return state.host ? state.host->shape() : state.device.shape();
  }
  // Null if the input is not a state.
  State* Find(absl::string_view past) {
    for (State& state : states) {
      if (!state.is_callers() && model->inputs()[state.input].name == past) return &state;
    }
    return nullptr;
  }
  // The signature, and the shapes of the states.
  std::string KeyOf(const InputValues& values) const;
  absl::StatusOr<Bound*> Get(const InputValues& values, RunStatistics* statistics);
  absl::StatusOr<std::unique_ptr<DeviceProgram>> Make(const InputValues& values,
                                                      std::vector<size_t>* fed,
                                                      RunStatistics* statistics);
  absl::StatusOr<std::vector<HostTensor>> RunOnDevice(Bound& program, const InputValues& values,
                                                      RunStatistics* statistics,
                                                      std::vector<KernelProfile>* profile);
  absl::StatusOr<std::vector<HostTensor>> RunThroughHost(const InputValues& values,
                                                         RunStatistics* statistics,
                                                         std::vector<KernelProfile>* profile);
  absl::StatusOr<std::vector<HostTensor>> Run(const std::map<std::string, HostValue>& given,
                                              RunStatistics* statistics,
                                              std::vector<KernelProfile>* profile);
  void ReleasePrograms() {
    bound.clear();
    session = nullptr;
  }
  void Reset() {
    for (State& state : states) {
      if (state.is_callers()) continue;
      state.host.reset();
      state.device = DeviceTensor();
    }
    for (Bound& one : bound) one.is_bound = false;
  }
};

absl::Status StateSession::Impl::Pair(const std::vector<StatePair>& pairs) {
  is_state_input.assign(model->inputs().size(), false);
  is_state_output.assign(model->outputs().size(), false);
  TARTAN_ASSIGN_OR_RETURN(const std::vector<StatePlaces> places, FindStates(*model, pairs));
  for (const StatePlaces& place : places) {
    is_state_input[place.input] = is_state_output[place.output] = true;
    states.push_back({place.output, place.input, std::nullopt, DeviceTensor()});
  }
  by_value = BoundByValue(*model);
  ListFree();
  return absl::OkStatus();
}

void StateSession::Impl::ListFree() {
  std::vector<StatePlaces> taken;
  for (const State& state : states) taken.push_back({state.output, state.input});
  FreeValues free = FreeOf(*model, taken);
  inputs = std::move(free.inputs);
  outputs = std::move(free.outputs);
}

absl::Status StateSession::Impl::BindMemory(const std::string& name, DeviceTensor memory) {
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

absl::Status StateSession::Impl::Begin(const InputValues& values) {
  for (State& state : states) {
    if (state.host || state.device.defined()) continue;
    std::vector<const TensorShape*> shapes;
    for (const HostValue* value : values) {
      shapes.push_back(value == nullptr ? nullptr : &value->tensor().shape());
    }
    TARTAN_ASSIGN_OR_RETURN(const TensorShape shape, FirstShape(*model, state.input, shapes));
    state.host = HostTensor::Zeros(shape);
    state.first_sizes = shape.dims;
  }
  return absl::OkStatus();
}

std::string StateSession::Impl::KeyOf(const InputValues& values) const {
  std::string key = SignatureOf(values, by_value);
  for (const State& state : states) absl::StrAppend(&key, ShapeOf(state).ToString(), ";");
  return key;
}

absl::StatusOr<std::unique_ptr<DeviceProgram>> StateSession::Impl::Make(const InputValues& values,
                                                                        std::vector<size_t>* fed,
                                                                        RunStatistics* statistics) {
  const auto start = Clock::now();
  std::vector<InputBinding> bindings = BindingsOf(values, by_value);
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

absl::StatusOr<StateSession::Impl::Bound*> StateSession::Impl::Get(const InputValues& values,
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

absl::StatusOr<std::vector<HostTensor>> StateSession::Impl::RunOnDevice(
    Bound& program, const InputValues& values, RunStatistics* statistics,
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
  for (const size_t input : program.fed) fed.push_back(values[input]->tensor());
  TARTAN_ASSIGN_OR_RETURN(std::vector<HostTensor> results,
                          program.program->Run(fed, statistics, profile));
  statistics->latency_ms = MillisecondsSince(start);
  return results;
}

absl::StatusOr<std::vector<HostTensor>> StateSession::Impl::RunThroughHost(
    const InputValues& values, RunStatistics* statistics, std::vector<KernelProfile>* profile) {
  if (session == nullptr) {
    TARTAN_ASSIGN_OR_RETURN(session, Session::Create(model, device, options));
  }
  std::map<std::string, HostTensor> all;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != nullptr) all.emplace(model->inputs()[i].name, values[i]->tensor());
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

absl::StatusOr<std::vector<HostTensor>> StateSession::Impl::Run(
    const std::map<std::string, HostValue>& given, RunStatistics* statistics,
    std::vector<KernelProfile>* profile) {
  TARTAN_ASSIGN_OR_RETURN(const InputValues values, ArrangeInputs(*model, given, is_state_input));
  TARTAN_RETURN_IF_ERROR(Begin(values));
  TARTAN_ASSIGN_OR_RETURN(Bound* const program, Get(values, statistics));
  stays = program->program != nullptr;
  auto results = stays ? RunOnDevice(*program, values, statistics, profile)
                       : RunThroughHost(values, statistics, profile);
  // Values out of range are detected before anything runs, so the states are still valid.
  if (!results.ok() && stays && !absl::IsOutOfRange(results.status())) Reset();
  return results;
}

StateSession::StateSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StateSession::~StateSession() = default;

absl::StatusOr<std::unique_ptr<StateSession>> StateSession::Create(
    std::shared_ptr<const Model> model, std::shared_ptr<Device> device,
    std::vector<StatePair> states, SessionOptions options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<StateSession>> {
    auto impl = std::make_unique<Impl>();
    impl->model = std::move(model);
    if (options.winograd) device = device->WithWinograd(*options.winograd);
    if (options.precision) device = device->WithPrecision(*options.precision);
    impl->device = std::move(device);
    impl->options = std::move(options);
    if (impl->options.pool == nullptr) {
      impl->options.pool = std::make_shared<evaluator::ResidentPool>();
    }
    impl->programs = std::make_unique<LoadedPrograms>(*impl->device, impl->options,
                                                      /*completes_compilations=*/true);
    TARTAN_RETURN_IF_ERROR(impl->Pair(states));
    return std::unique_ptr<StateSession>(new StateSession(std::move(impl)));
  });
}

const std::vector<TensorSpec>& StateSession::inputs() const { return impl_->inputs; }
const std::vector<TensorSpec>& StateSession::outputs() const { return impl_->outputs; }
void StateSession::Reset() { impl_->Reset(); }
void StateSession::ReleasePrograms() { impl_->ReleasePrograms(); }
absl::Status StateSession::Bind(const std::string& name, DeviceTensor memory) {
  return impl_->BindMemory(name, std::move(memory));
}
bool StateSession::stays() const { return impl_->stays; }

absl::Status StateSession::Set(const std::string& past, HostTensor value) {
  Impl::State* state = impl_->Find(past);
  if (state == nullptr) return NoState(past);
  TARTAN_RETURN_IF_ERROR(CheckAgainstSpec(impl_->model->inputs()[state->input], value));
  state->host = std::move(value);
  state->first_sizes.clear();
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> StateSession::Get(const std::string& past) const {
  const Impl::State* state = impl_->Find(past);
  if (state == nullptr) return NoState(past);
  if (state->host) return *state->host;
  if (state->device.defined()) return state->device.ToHost();
  return absl::FailedPreconditionError(absl::StrCat("the state '", past, "' has no value yet"));
}

std::vector<int64_t> StateSession::FirstSizes(const std::string& past) const {
  const Impl::State* state = impl_->Find(past);
  return state == nullptr ? std::vector<int64_t>() : state->first_sizes;
}

absl::StatusOr<std::vector<HostTensor>> StateSession::Run(
    const std::map<std::string, HostTensor>& inputs, RunStatistics* statistics,
    std::vector<KernelProfile>* profile) {
  return CatchOutOfMemory([&] {
    RunStatistics ignored;
    return impl_->Run({inputs.begin(), inputs.end()}, statistics == nullptr ? &ignored : statistics,
                      profile);
  });
}

absl::Status StateSession::WaitForExact() {
  return CatchOutOfMemory([&]() -> absl::Status {
    for (Impl::Bound& one : impl_->bound) {
      if (one.program != nullptr) TARTAN_RETURN_IF_ERROR(one.program->MakeExact());
    }
    return impl_->session == nullptr ? absl::OkStatus() : impl_->session->WaitForExact();
  });
}

}  // namespace tartan::api
