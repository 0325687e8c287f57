// SPDX-License-Identifier: Apache-2.0
// A session that feeds outputs back as inputs: recurrent states, the cache of a decoder. The caller
// neither feeds nor reads them.
//
//   TARTAN_ASSIGN_OR_RETURN(const auto session,
//       StateSession::Create(model, device, {{"h_out", "h_in"}, {"c_out", "c_in"}}));
//   for (…) TARTAN_ASSIGN_OR_RETURN(const auto outputs, session->Run({{"x", x}}));
//   TARTAN_ASSIGN_OR_RETURN(const HostTensor h, session->Get("h_in"));
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/resident/device_tensor.h"
#include "frontend/api/resident/state_pairs.h"
#include "frontend/api/session.h"

namespace tartan::api {

// States whose shapes do not change stay on the device and are updated in place. If shapes change,
// or the graph depends on computed values, states are copied through the host. Used by one thread
// at a time. Values out of range are detected as in DeviceProgram if states stay on the device,
// otherwise as in Session.
class StateSession {
 public:
  // Errors as from FindStates.
  static absl::StatusOr<std::unique_ptr<StateSession>> Create(std::shared_ptr<const Model> model,
                                                              std::shared_ptr<Device> device,
                                                              std::vector<StatePair> states,
                                                              SessionOptions options = {});
  ~StateSession();

  // The model's inputs and outputs that are not states.
  const std::vector<TensorSpec>& inputs() const;
  const std::vector<TensorSpec>& outputs() const;

  // Sets the value of a state, named by its input, for the next run. A state never set begins with
  // zeros. Its open dimensions have the size that the run's inputs have under the same name;
  // otherwise 1 for the first dimension and 0 for others, an empty cache.
  absl::Status Set(const std::string& past, HostTensor value);
  // FailedPrecondition if the state has no value yet.
  absl::StatusOr<HostTensor> Get(const std::string& past) const;
  // The shape with which the state began as zeros; empty if it was set or has not begun.
  std::vector<int64_t> FirstSizes(const std::string& past) const;
  // Binds memory of the caller to an input or output that is not a state; each run reads or writes
  // it. The input or output is then no longer passed to or returned by Run. A second call replaces
  // the memory. InvalidArgument for an unknown name and for memory that does not match the
  // declaration. Run reports an output of another shape.
  absl::Status Bind(const std::string& name, DeviceTensor memory);
  // Resets all states to unset.
  void Reset();
  // Releases the programs of earlier runs, with their copies of the weights. States stay. A later
  // run loads its program again.
  void ReleasePrograms();

  // Like Session::Run, for inputs() and outputs(). Invalid inputs leave the states unchanged; a
  // device failure resets them.
  absl::StatusOr<std::vector<HostTensor>> Run(const std::map<std::string, HostTensor>& inputs,
                                              RunStatistics* statistics = nullptr,
                                              std::vector<KernelProfile>* profile = nullptr);
  // True if the states of the last run were on the device only.
  bool stays() const;
  // Like Session::WaitForExact.
  absl::Status WaitForExact();

 private:
  struct Impl;
  explicit StateSession(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tartan::api
