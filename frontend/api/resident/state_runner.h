// SPDX-License-Identifier: Apache-2.0
// Runs a model with states; the implementation of state_session.h. Internal to frontend/api.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/api/load.h"
#include "frontend/api/resident/device_program.h"
#include "frontend/api/resident/state_pairs.h"
#include "frontend/api/session.h"

namespace tartan::api {

struct StateRunner {
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

  using Values = std::vector<const HostTensor*>;  // one per input; null if left out

  absl::Status Pair(const std::vector<StatePair>& pairs);
  void ListFree();
  absl::Status BindMemory(const std::string& name, DeviceTensor memory);
  absl::StatusOr<Values> Arrange(const std::map<std::string, HostTensor>& given) const;
  absl::Status Begin(const Values& values);
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
  std::string KeyOf(const Values& values) const;
  absl::StatusOr<Bound*> Get(const Values& values, RunStatistics* statistics);
  absl::StatusOr<std::unique_ptr<DeviceProgram>> Make(const Values& values,
                                                      std::vector<size_t>* fed,
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

}  // namespace tartan::api
