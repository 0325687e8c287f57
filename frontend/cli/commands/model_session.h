// SPDX-License-Identifier: Apache-2.0
// A model as a command runs it: its inputs given by the caller, or some of them (--state) what an
// output was in the run before.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/resident/state_session.h"
#include "frontend/api/session.h"

namespace tartan::cli {

// What a caller gives a model with these states, and is given. Errors carry their stage.
absl::StatusOr<api::FreeValues> FreeOf(const api::Model& model,
                                       const std::vector<std::string>& states);

class ModelSession {
 public:
  // `states`: PRESENT=PAST; none, and nothing that `stays`: an api::Session. Errors carry their
  // stage.
  static absl::StatusOr<std::unique_ptr<ModelSession>> Create(
      std::shared_ptr<const api::Model> model, std::shared_ptr<api::Device> device,
      const std::vector<std::string>& states, const api::SessionOptions& options,
      bool stays = false);

  // What the caller gives and is given.
  const std::vector<api::TensorSpec>& inputs() const;
  const std::vector<api::TensorSpec>& outputs() const;
  api::Device& device() const { return *device_; }

  absl::StatusOr<std::vector<api::HostValue>> RunValues(
      const std::map<std::string, api::HostValue>& inputs, api::RunStatistics* statistics = nullptr,
      std::vector<api::KernelProfile>* profile = nullptr);
  // Of a session that stays: from now on inputs have these values on the device, and outputs lie
  // there in memory of the sizes of these results. Runs are given nothing, and give nothing.
  absl::Status KeepOnDevice(const std::map<std::string, api::HostValue>& inputs,
                            const std::vector<api::HostValue>& outputs);
  absl::Status WaitForExact();
  // Whether the next run is like the last one: it has no states whose sizes change.
  bool repeats() const { return plain_ != nullptr || states_->stays(); }

 private:
  ModelSession() = default;

  std::shared_ptr<const api::Model> model_;
  std::shared_ptr<api::Device> device_;
  std::unique_ptr<api::Session> plain_;  // one of the two
  std::unique_ptr<api::StateSession> states_;
};

}  // namespace tartan::cli
