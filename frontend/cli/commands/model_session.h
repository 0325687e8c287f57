// SPDX-License-Identifier: Apache-2.0
// A model as a command runs it, on one device or several. The caller gives the inputs; an input
// named by --state gets an output of the previous run instead.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/parallel/parallel_session.h"
#include "frontend/api/resident/state_session.h"
#include "frontend/api/session.h"
#include "frontend/cli/context.h"

namespace tartan::cli {

// The model's inputs and outputs that are not states. Errors carry their stage.
absl::StatusOr<api::FreeValues> FreeOf(const api::Model& model,
                                       const std::vector<std::string>& states);

class ModelSession {
 public:
  // `states` are PRESENT=PAST. Without states and with `stays` false, uses an api::Session, or an
  // api::ParallelSession on several devices; otherwise several devices are an error. Errors carry
  // their stage.
  static absl::StatusOr<std::unique_ptr<ModelSession>> Create(
      std::shared_ptr<const api::Model> model, std::vector<std::shared_ptr<api::Device>> devices,
      const std::vector<std::string>& states, const api::SessionOptions& options,
      bool stays = false);

  // Inputs and outputs that are not states.
  const std::vector<api::TensorSpec>& inputs() const;
  const std::vector<api::TensorSpec>& outputs() const;
  // The first device.
  api::Device& device() const { return *devices_[0]; }
  const std::vector<std::shared_ptr<api::Device>>& devices() const { return devices_; }
  // The number of devices that compute parts of these inputs.
  absl::StatusOr<size_t> CountUsed(const std::map<std::string, api::HostValue>& inputs) const;

  absl::StatusOr<std::vector<api::HostValue>> RunValues(
      const std::map<std::string, api::HostValue>& inputs, api::RunStatistics* statistics = nullptr,
      std::vector<api::KernelProfile>* profile = nullptr);
  // For a session with `stays`: later runs use these inputs on the device, and write outputs to
  // device memory with the shapes of these results. Runs then take and return nothing.
  absl::Status KeepOnDevice(const std::map<std::string, api::HostValue>& inputs,
                            const std::vector<api::HostValue>& outputs);
  absl::Status WaitForExact();
  // Reports of the programs of past runs. Unimplemented with states.
  absl::StatusOr<std::vector<api::ProgramReport>> Explain();
  // True if the next run has the shapes of the last one: no state changes its size.
  bool repeats() const { return states_ == nullptr || states_->stays(); }

 private:
  ModelSession() = default;

  std::shared_ptr<const api::Model> model_;
  std::vector<std::shared_ptr<api::Device>> devices_;
  std::unique_ptr<api::Session> plain_;  // exactly one of the three is set
  std::unique_ptr<api::ParallelSession> parallel_;
  std::unique_ptr<api::StateSession> states_;
};

// Notes that a batch has fewer rows than there are devices, if so.
absl::Status NoteIdleDevices(const ModelSession& session,
                             const std::map<std::string, api::HostValue>& inputs,
                             const Context& context);

}  // namespace tartan::cli
