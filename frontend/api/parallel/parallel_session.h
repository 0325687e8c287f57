// SPDX-License-Identifier: Apache-2.0
// Runs a model on several devices of this process: splits the batch, runs one part per device, and
// joins the outputs. For one device, use session.h.
//
//   TARTAN_ASSIGN_OR_RETURN(const auto devices, OpenDevices({"0", "1"}));
//   TARTAN_ASSIGN_OR_RETURN(const auto session, ParallelSession::Create(model, devices));
//   TARTAN_ASSIGN_OR_RETURN(const auto outputs, session->Run({{"x", images}}));
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "frontend/api/device.h"
#include "frontend/api/model.h"
#include "frontend/api/session.h"

namespace tartan::api {

// "0,1" as {"0", "1"}. InvalidArgument if one of several selectors is empty.
absl::StatusOr<std::vector<std::string>> ParseSelectors(absl::string_view text);

// Opens a device per selector (Device::Open). A selector may occur several times: each occurrence
// has its own queue and memory.
absl::StatusOr<std::vector<std::shared_ptr<Device>>> OpenDevices(
    absl::Span<const std::string> selectors, const DeviceOptions& options = {});

// Owns a session and a thread per device. Thread-safe: parts of concurrent runs wait for each other
// on each device.
//
// Each part is computed as a Session computes a batch of its size. A session may choose other
// kernels for the whole batch, so that float results of one device may differ by rounding.
//
// Parts of a run with new input sizes run one after another, so that equal devices find the
// compiled kernels of the first one in the disk cache.
//
// The first run with differing rows checks that a row of the outputs does not depend on other rows
// of the batch. Four more runs on the first device replace all rows of a part by its first or its
// last row. Dependence that changes neither is not found. SessionOptions::unchecked leaves the
// check out.
class ParallelSession {
 public:
  // InvalidArgument if there is no device, or if the model has no batch axis (batch_split.h).
  // `options` applies to each session, except the pool: no two devices share weights.
  static absl::StatusOr<std::unique_ptr<ParallelSession>> Create(
      std::shared_ptr<const Model> model, std::vector<std::shared_ptr<Device>> devices,
      SessionOptions options = {});
  ~ParallelSession();

  const Model& model() const;
  const std::vector<std::shared_ptr<Device>>& devices() const;
  // The session of a device. Runs on it directly do not wait for parts of other runs.
  Session& session(size_t device);
  // The number of devices that run a part of these inputs: no more than rows. Errors of Run.
  absl::StatusOr<size_t> CountUsed(const std::map<std::string, HostValue>& inputs) const;

  // Session::Run with the batch split over the devices. Counts of `statistics` are sums over the
  // devices, its latency is the time of the whole run; `profile` has the kernels of each device in
  // turn.
  // - The errors of Session::Run, after the device: "device 1 (NAME): …".
  // - InvalidArgument: inputs with different numbers of rows.
  // - FailedPrecondition: an output without the rows of its part, or with rows that depend on other
  //   rows of the batch.
  absl::StatusOr<std::vector<HostTensor>> Run(const std::map<std::string, HostTensor>& inputs,
                                              RunStatistics* statistics = nullptr,
                                              std::vector<KernelProfile>* profile = nullptr);
  absl::StatusOr<std::vector<HostValue>> RunValues(const std::map<std::string, HostValue>& inputs,
                                                   RunStatistics* statistics = nullptr,
                                                   std::vector<KernelProfile>* profile = nullptr);

  // Session::WaitForExact for each device.
  absl::Status WaitForExact();

 private:
  struct Impl;
  explicit ParallelSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tartan::api
