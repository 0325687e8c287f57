// SPDX-License-Identifier: Apache-2.0
// Runs a model on a device: binds it to the shapes it is given, compiles once per signature, keeps
// weights on the device. A model whose graph depends on values computed on the way runs as several
// programs, each compiled once for each way its run has taken.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/device.h"
#include "frontend/api/model.h"
#include "frontend/api/run_statistics.h"

namespace tartan::plan {
enum class Winograd : uint8_t;  // tile/plan/select_winograd.h
}

namespace tartan::api {

struct SessionOptions {
  // Compiled signatures kept, and ways on from any point where values decide; the least recently
  // used goes.
  int max_signatures = 16;
  // Indices, lengths and labels that are out of range at run time (checks/check.h) are brought into
  // range or left out instead of making the run fail. No other element is written either way.
  bool unchecked = false;
  // Winograd's algorithm for this model's convolutions: kNever for inputs that may hold infinities
  // or NaN, which it spreads over whole tiles. Not set: as the device does.
  std::optional<plan::Winograd> winograd;
};

// Thread-safe: runs of one signature share its compiled program, each with its own memory. A new
// signature is compiled by the first run that brings it, while others with the same wait for it and
// runs of known ones go on. Weights are on the device once for all signatures. Where its memory
// ends, what is kept for runs to come is given back, then the signatures that were not used
// longest, and the run is tried again; ResourceExhausted where that does not help.
class Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<const Model> model,
                                                         std::shared_ptr<Device> device,
                                                         SessionOptions options = {});
  ~Session();

  const Model& model() const;
  Device& device() const;

  // Inputs by name; those with a default may be left out. InvalidArgument for a name the model does
  // not have (listing those it has), a missing input, a wrong type or a shape that contradicts the
  // model's; OutOfRange for an index out of range, naming its node. Outputs in the order of
  // model().outputs(). `statistics` and `profile` may be null;
  // with `profile`, kernels are timed one by one.
  absl::StatusOr<std::vector<HostTensor>> Run(const std::map<std::string, HostTensor>& inputs,
                                              RunStatistics* statistics = nullptr,
                                              std::vector<KernelProfile>* profile = nullptr);

  // The same for models with inputs or outputs that are no tensors of plain numbers.
  absl::StatusOr<std::vector<HostValue>> RunValues(const std::map<std::string, HostValue>& inputs,
                                                   RunStatistics* statistics = nullptr,
                                                   std::vector<KernelProfile>* profile = nullptr);

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tartan::api
