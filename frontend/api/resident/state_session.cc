// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/resident/state_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/resident/state_runner.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::api {
namespace {

absl::Status NoState(absl::string_view past) {
  return absl::InvalidArgumentError(absl::StrCat("the input '", past, "' is not a state"));
}

}  // namespace

struct StateSession::Impl : StateRunner {};

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
  StateRunner::State* state = impl_->Find(past);
  if (state == nullptr) return NoState(past);
  TARTAN_RETURN_IF_ERROR(CheckAgainstSpec(impl_->model->inputs()[state->input], value));
  state->host = std::move(value);
  state->first_sizes.clear();
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> StateSession::Get(const std::string& past) const {
  const StateRunner::State* state = impl_->Find(past);
  if (state == nullptr) return NoState(past);
  if (state->host) return *state->host;
  if (state->device.defined()) return state->device.ToHost();
  return absl::FailedPreconditionError(absl::StrCat("the state '", past, "' has no value yet"));
}

std::vector<int64_t> StateSession::FirstSizes(const std::string& past) const {
  const StateRunner::State* state = impl_->Find(past);
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
    for (StateRunner::Bound& one : impl_->bound) {
      if (one.program != nullptr) TARTAN_RETURN_IF_ERROR(one.program->MakeExact());
    }
    return impl_->session == nullptr ? absl::OkStatus() : impl_->session->WaitForExact();
  });
}

}  // namespace tartan::api
