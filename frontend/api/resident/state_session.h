// SPDX-License-Identifier: Apache-2.0
// A session whose outputs are fed back as inputs: recurrent states, the cache of a decoder. The
// caller neither feeds nor reads them.
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

// Where a state has the same sizes before and after a run, it stays on the device and is written in
// place; states of a model whose sizes change, or whose graph depends on values computed on the
// way, go through the host. Used by one thread at a time. Numbers out of range are looked for as in
// DeviceProgram where states stay on the device, as in Session elsewhere.
class StateSession {
 public:
  // The errors of FindStates.
  static absl::StatusOr<std::unique_ptr<StateSession>> Create(std::shared_ptr<const Model> model,
                                                              std::shared_ptr<Device> device,
                                                              std::vector<StatePair> states,
                                                              SessionOptions options = {});
  ~StateSession();

  // What is left of the model's for the caller.
  const std::vector<TensorSpec>& inputs() const;
  const std::vector<TensorSpec>& outputs() const;

  // The value of a state, told by the input: that which the next run begins with. A state that was
  // never set begins with zeros. Sizes that the model leaves open are then those that the run's
  // inputs have under the same name, 1 for the first size of all and 0 for others: a cache that is
  // empty.
  absl::Status Set(const std::string& past, HostTensor value);
  // FailedPrecondition before it has a value.
  absl::StatusOr<HostTensor> Get(const std::string& past) const;
  // The sizes it had when it began with zeros; none where it was set, or has not begun.
  std::vector<int64_t> FirstSizes(const std::string& past) const;
  // Memory of the caller's for an input or an output that is no state, which each run reads or
  // writes: it is neither given nor among the results from then on. Binding it anew exchanges the
  // memory. InvalidArgument for a name that is not there and memory that is not what the model
  // declares; Run says so where an output has other sizes.
  absl::Status Bind(const std::string& name, DeviceTensor memory);
  // As if no state had ever been set.
  void Reset();

  // As Session::Run, for inputs() and outputs(). Bad inputs leave states as they are, a failure of
  // the device leaves them as Reset does.
  absl::StatusOr<std::vector<HostTensor>> Run(const std::map<std::string, HostTensor>& inputs,
                                              RunStatistics* statistics = nullptr,
                                              std::vector<KernelProfile>* profile = nullptr);
  // Whether the last run's states were on the device alone.
  bool stays() const;
  // As Session::WaitForExact.
  absl::Status WaitForExact();

 private:
  struct Impl;
  explicit StateSession(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tartan::api
