// SPDX-License-Identifier: Apache-2.0
// A model as a command runs it. The caller gives the inputs; an input named by --state gets an
// output of the previous run instead.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/resident/state_session.h"
#include "frontend/api/session.h"

namespace tartan::cli {

// The model's inputs and outputs that are not states. Errors carry their stage.
absl::StatusOr<api::FreeValues> FreeOf(const api::Model& model,
                                       const std::vector<std::string>& states);

class ModelSession {
 public:
  // `states` are PRESENT=PAST. Without states and with `stays` false, uses an api::Session. Errors
  // carry their stage.
  static absl::StatusOr<std::unique_ptr<ModelSession>> Create(
      std::shared_ptr<const api::Model> model, std::shared_ptr<api::Device> device,
      const std::vector<std::string>& states, const api::SessionOptions& options,
      bool stays = false);

  // Inputs and outputs that are not states.
  const std::vector<api::TensorSpec>& inputs() const;
  const std::vector<api::TensorSpec>& outputs() const;
  api::Device& device() const { return *device_; }

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
  bool repeats() const { return plain_ != nullptr || states_->stays(); }

 private:
  ModelSession() = default;

  std::shared_ptr<const api::Model> model_;
  std::shared_ptr<api::Device> device_;
  std::unique_ptr<api::Session> plain_;  // exactly one of the two is set
  std::unique_ptr<api::StateSession> states_;
};

}  // namespace tartan::cli
