// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/commands/model_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/api/explain/program_report.h"
#include "frontend/cli/process/exit_code.h"
#include "tile/base/status_macros.h"

namespace tartan::cli {
namespace {

absl::StatusOr<std::vector<api::StatePair>> ParsePairs(const std::vector<std::string>& states) {
  std::vector<api::StatePair> pairs;
  for (const std::string& text : states) {
    TARTAN_ASSIGN_OR_RETURN(pairs.emplace_back(), At(Stage::kUsage, api::ParseStatePair(text)));
  }
  return pairs;
}

absl::StatusOr<HostTensor> NumbersOf(const std::string& name, const api::HostValue& value) {
  if (value.is_tensor() && value.element() == api::Element::kPlain) return value.tensor();
  return absl::UnimplementedError(absl::StrCat("'", name, "' is ", Describe(value),
                                               ": only tensors of numbers can stay on a device"));
}

}  // namespace

absl::StatusOr<api::FreeValues> FreeOf(const api::Model& model,
                                       const std::vector<std::string>& states) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<api::StatePair> pairs, ParsePairs(states));
  TARTAN_ASSIGN_OR_RETURN(const auto places, At(Stage::kUsage, api::FindStates(model, pairs)));
  return api::FreeOf(model, places);
}

absl::StatusOr<std::unique_ptr<ModelSession>> ModelSession::Create(
    std::shared_ptr<const api::Model> model, std::vector<std::shared_ptr<api::Device>> devices,
    const std::vector<std::string>& states, const api::SessionOptions& options, bool stays) {
  std::unique_ptr<ModelSession> session(new ModelSession());
  session->model_ = model;
  session->devices_ = devices;
  if (devices.size() > 1) {
    if (!states.empty() || stays) {
      return At(Stage::kUsage,
                absl::InvalidArgumentError("--state and --on-device take one device, not several"));
    }
    TARTAN_ASSIGN_OR_RETURN(
        session->parallel_,
        At(Stage::kUsage, api::ParallelSession::Create(model, std::move(devices), options)));
    return session;
  }
  const std::shared_ptr<api::Device>& device = session->devices_[0];
  if (states.empty() && !stays) {
    TARTAN_ASSIGN_OR_RETURN(session->plain_,
                            At(Stage::kRun, api::Session::Create(model, device, options)));
    return session;
  }
  TARTAN_ASSIGN_OR_RETURN(std::vector<api::StatePair> pairs, ParsePairs(states));
  TARTAN_RETURN_IF_ERROR(At(Stage::kUsage, api::FindStates(*model, pairs).status()));
  TARTAN_ASSIGN_OR_RETURN(
      session->states_,
      At(Stage::kRun, api::StateSession::Create(model, device, std::move(pairs), options)));
  return session;
}

const std::vector<api::TensorSpec>& ModelSession::inputs() const {
  return states_ == nullptr ? model_->inputs() : states_->inputs();
}

const std::vector<api::TensorSpec>& ModelSession::outputs() const {
  return states_ == nullptr ? model_->outputs() : states_->outputs();
}

absl::StatusOr<std::vector<api::HostValue>> ModelSession::RunValues(
    const std::map<std::string, api::HostValue>& inputs, api::RunStatistics* statistics,
    std::vector<api::KernelProfile>* profile) {
  if (plain_ != nullptr) return plain_->RunValues(inputs, statistics, profile);
  if (parallel_ != nullptr) return parallel_->RunValues(inputs, statistics, profile);
  std::map<std::string, HostTensor> tensors;
  for (const auto& [name, value] : inputs) {
    TARTAN_ASSIGN_OR_RETURN(tensors[name], NumbersOf(name, value));
  }
  TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> results,
                          states_->Run(tensors, statistics, profile));
  return std::vector<api::HostValue>(results.begin(), results.end());
}

absl::Status ModelSession::KeepOnDevice(const std::map<std::string, api::HostValue>& inputs,
                                        const std::vector<api::HostValue>& outputs) {
  const std::vector<api::TensorSpec> specs = states_->outputs();  // a copy: Bind removes entries
  for (const auto& [name, value] : inputs) {
    TARTAN_ASSIGN_OR_RETURN(const HostTensor numbers, NumbersOf(name, value));
    TARTAN_ASSIGN_OR_RETURN(api::DeviceTensor memory,
                            api::DeviceTensor::FromHost(device(), numbers));
    TARTAN_RETURN_IF_ERROR(states_->Bind(name, std::move(memory)));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TARTAN_ASSIGN_OR_RETURN(const HostTensor numbers, NumbersOf(specs[i].name, outputs[i]));
    TARTAN_ASSIGN_OR_RETURN(api::DeviceTensor memory,
                            api::DeviceTensor::Zeros(device(), numbers.shape()));
    TARTAN_RETURN_IF_ERROR(states_->Bind(specs[i].name, std::move(memory)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<api::ProgramReport>> ModelSession::Explain() {
  if (plain_ != nullptr) return plain_->Explain();
  return absl::UnimplementedError(
      parallel_ != nullptr
          ? "programs on several devices are not explained: give one device"
          : "programs with states or with data that stays on the device are not explained");
}

absl::Status ModelSession::WaitForExact() {
  if (plain_ != nullptr) return plain_->WaitForExact();
  return parallel_ != nullptr ? parallel_->WaitForExact() : states_->WaitForExact();
}

absl::StatusOr<size_t> ModelSession::CountUsed(
    const std::map<std::string, api::HostValue>& inputs) const {
  if (parallel_ == nullptr) return 1;
  return parallel_->CountUsed(inputs);
}

absl::Status NoteIdleDevices(const ModelSession& session,
                             const std::map<std::string, api::HostValue>& inputs,
                             const Context& context) {
  const size_t devices = session.devices().size();
  if (devices == 1) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(const size_t used, At(Stage::kRun, session.CountUsed(inputs)));
  if (used == devices) return absl::OkStatus();
  context.Note(absl::StrCat("warning: the batch has fewer rows than there are devices: ", used,
                            " of ", devices, " devices used"));
  return absl::OkStatus();
}

}  // namespace tartan::cli
