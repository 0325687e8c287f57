// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/resident/state_session.h"

#include <algorithm>
#include <list>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/api/resident/step_program.h"
#include "tile/base/clock.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

// Values of more elements do not decide shapes.
constexpr int64_t kMostDeciding = 64;

absl::Status NoState(absl::string_view past) {
  return absl::InvalidArgumentError(absl::StrCat("the input '", past, "' is no state"));
}

}  // namespace

struct StateSession::Impl {
  struct State {
    size_t output = 0;
    size_t input = 0;
    std::optional<HostTensor> host;  // where it is newer than `device`, or there is none
    DeviceTensor device;
    std::vector<int64_t> first_sizes = {};  // where it began with zeros
  };
  // A model bound to sizes; null where it cannot run with states on the device.
  struct Bound {
    std::string key;
    std::unique_ptr<StepProgram> program;
    std::vector<size_t> fed;  // of all inputs, those it is given
    bool is_bound = false;    // to the states' memory as it is now
  };

  std::shared_ptr<const Model> model;
  std::shared_ptr<Device> device;
  SessionOptions options;
  std::unique_ptr<Session> session;  // for what cannot stay on the device
  std::vector<State> states;
  std::vector<bool> is_state_input, is_state_output;
  std::vector<TensorSpec> inputs, outputs;
  std::vector<bool> by_value;
  std::list<Bound> bound;  // the most recently used first
  std::shared_ptr<evaluator::ResidentPool> pool = std::make_shared<evaluator::ResidentPool>();
  bool stays = false;

  using Values = std::vector<const HostTensor*>;  // of all inputs; null for what is left out

  absl::Status Pair(const std::vector<StatePair>& pairs);
  absl::StatusOr<Values> Arrange(const std::map<std::string, HostTensor>& given) const;
  absl::Status Begin(const Values& values);
  TensorShape ShapeOf(const State& state) const {
    return state.host ? state.host->shape() : state.device.shape();
  }
  // Null where the input is no state.
  State* Find(absl::string_view past) {
    for (State& state : states) {
      if (model->inputs()[state.input].name == past) return &state;
    }
    return nullptr;
  }
  std::string KeyOf(const Values& values) const;
  absl::StatusOr<Bound*> Get(const Values& values, RunStatistics* statistics);
  absl::StatusOr<std::unique_ptr<StepProgram>> Make(const Values& values, std::vector<size_t>* fed,
                                                    RunStatistics* statistics);
  absl::StatusOr<std::vector<HostTensor>> RunOnDevice(Bound& program, const Values& values,
                                                      RunStatistics* statistics,
                                                      std::vector<KernelProfile>* profile);
  absl::StatusOr<std::vector<HostTensor>> RunThroughHost(const Values& values,
                                                         RunStatistics* statistics,
                                                         std::vector<KernelProfile>* profile);
  absl::StatusOr<std::vector<HostTensor>> Run(const std::map<std::string, HostTensor>& given,
                                              RunStatistics* statistics,
                                              std::vector<KernelProfile>* profile);
  void Reset() {
    for (State& state : states) {
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
  for (size_t i = 0; i < is_state_input.size(); ++i) {
    by_value.push_back(!model->inputs()[i].is_tensor() ||
                       model->inputs()[i].element != Element::kPlain);
  }
  FreeValues free = FreeOf(*model, places);
  inputs = std::move(free.inputs);
  outputs = std::move(free.outputs);
  return absl::OkStatus();
}

absl::StatusOr<StateSession::Impl::Values> StateSession::Impl::Arrange(
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
  for (const auto& [name, value] : given) {
    const auto is_named = [&](const TensorSpec& spec) { return spec.name == name; };
    if (std::any_of(inputs.begin(), inputs.end(), is_named)) continue;
    const auto& all = model->inputs();
    if (std::any_of(all.begin(), all.end(), is_named)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", name, "' is a state: it has the value of the last run"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "the model has no input '", name,
        "'; it has: ", absl::StrJoin(inputs, ", ", [](std::string* out, const TensorSpec& spec) {
          absl::StrAppend(out, spec.name);
        })));
  }
  return absl::InternalError("an input was not found");
}

absl::Status StateSession::Impl::Begin(const Values& values) {
  for (State& state : states) {
    if (state.host || state.device.defined()) continue;
    TARTAN_ASSIGN_OR_RETURN(const TensorShape shape, FirstShape(*model, state.input, values));
    state.host = HostTensor::Zeros(shape);
    state.first_sizes = shape.dims;
  }
  return absl::OkStatus();
}

std::string StateSession::Impl::KeyOf(const Values& values) const {
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

absl::StatusOr<std::unique_ptr<StepProgram>> StateSession::Impl::Make(const Values& values,
                                                                      std::vector<size_t>* fed,
                                                                      RunStatistics* statistics) {
  const auto start = Clock::now();
  BoundGraph graph;
  std::vector<HostValue> known(values.size());
  for (bool complete = false; !complete;) {
    std::vector<InputBinding> bindings(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      bindings[i].given = values[i] != nullptr;
      if (values[i] == nullptr) continue;
      bindings[i].shape = values[i]->shape();
      known[i] = *values[i];
      if (by_value[i]) bindings[i].value = &known[i];
    }
    for (const State& state : states) {
      bindings[state.input].given = true;
      bindings[state.input].shape = ShapeOf(state);
    }
    TARTAN_ASSIGN_OR_RETURN(graph, model->Bind(bindings));
    complete = graph.needed_values.empty();
    for (const int input : graph.needed_values) {
      const auto i = static_cast<size_t>(input);
      const bool decides = values[i] != nullptr && !by_value[i] &&
                           values[i]->shape().element_count() <= kMostDeciding;
      if (!decides) return std::unique_ptr<StepProgram>();
      by_value[i] = true;
    }
  }
  statistics->bind_ms += MillisecondsSince(start);

  StepSource source;
  for (const Value& output : graph.outputs) {
    if (!output.is_tensor() || output.element() != Element::kPlain) return nullptr;
  }
  for (const State& state : states) {
    const Tensor& past = graph.placeholders[state.input];
    const Tensor& next = graph.outputs[state.output].tensor();
    if (!past.defined() || next.shape() != past.shape()) return nullptr;
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
  source.device = device;
  source.name = model->name();
  source.tier = options.tier;
  source.exact_after_runs = options.exact_after_runs;
  source.pool = pool;
  return StepProgram::Create(std::move(source), statistics);
}

absl::StatusOr<StateSession::Impl::Bound*> StateSession::Impl::Get(const Values& values,
                                                                   RunStatistics* statistics) {
  const std::string key = KeyOf(values);
  const auto found =
      std::find_if(bound.begin(), bound.end(), [&](const Bound& one) { return one.key == key; });
  if (found != bound.end()) {
    bound.splice(bound.begin(), bound, found);
    return &bound.front();
  }
  Bound made;
  absl::StatusOr<std::unique_ptr<StepProgram>> program = Make(values, &made.fed, statistics);
  if (program.ok()) {
    made.program = *std::move(program);
  } else if (!absl::IsUnimplemented(program.status())) {
    return program.status();
  }
  made.key = KeyOf(values);  // more may be known to decide shapes
  bound.push_front(std::move(made));
  if (static_cast<int>(bound.size()) > options.max_signatures) bound.pop_back();
  return &bound.front();
}

absl::StatusOr<std::vector<HostTensor>> StateSession::Impl::RunOnDevice(
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

absl::StatusOr<std::vector<HostTensor>> StateSession::Impl::RunThroughHost(
    const Values& values, RunStatistics* statistics, std::vector<KernelProfile>* profile) {
  if (session == nullptr) {
    TARTAN_ASSIGN_OR_RETURN(session, Session::Create(model, device, options));
  }
  std::map<std::string, HostTensor> all;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != nullptr) all.emplace(model->inputs()[i].name, *values[i]);
  }
  for (State& state : states) {
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
    const HostTensor& next = results[state.output];
    TARTAN_RETURN_IF_ERROR(CheckAgainstSpec(model->inputs()[state.input], next));
    state.host = next;
  }
  return left;
}

absl::StatusOr<std::vector<HostTensor>> StateSession::Impl::Run(
    const std::map<std::string, HostTensor>& given, RunStatistics* statistics,
    std::vector<KernelProfile>* profile) {
  TARTAN_ASSIGN_OR_RETURN(const Values values, Arrange(given));
  TARTAN_RETURN_IF_ERROR(Begin(values));
  TARTAN_ASSIGN_OR_RETURN(Bound* const program, Get(values, statistics));
  stays = program->program != nullptr;
  auto results = stays ? RunOnDevice(*program, values, statistics, profile)
                       : RunThroughHost(values, statistics, profile);
  // Numbers out of range are found before anything is run.
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
    impl->device = options.winograd ? device->WithWinograd(*options.winograd) : std::move(device);
    impl->options = std::move(options);
    TARTAN_RETURN_IF_ERROR(impl->Pair(states));
    return std::unique_ptr<StateSession>(new StateSession(std::move(impl)));
  });
}

const std::vector<TensorSpec>& StateSession::inputs() const { return impl_->inputs; }
const std::vector<TensorSpec>& StateSession::outputs() const { return impl_->outputs; }
void StateSession::Reset() { impl_->Reset(); }
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
    return impl_->Run(inputs, statistics == nullptr ? &ignored : statistics, profile);
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
