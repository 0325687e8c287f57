// SPDX-License-Identifier: Apache-2.0
// Runs a model on a device: binds it to the shapes it is given, compiles once per signature, keeps
// weights on the device. A model whose graph depends on values computed on the way runs as several
// programs, each compiled once for each way its run has taken.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/device.h"
#include "frontend/api/explain/program_report.h"
#include "frontend/api/model.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tiers/tier.h"

namespace tartan::evaluator {
class ResidentPool;  // tile/evaluator/resident_buffers.h
}
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
  // What products of this model may be computed with on a device with a matrix unit or with
  // products of integers, or a CPU (Device::WithPrecision). Not set: as the device does.
  std::optional<Precision> precision;
  // With kAuto a signature begins with exact kernels where they are on disk or were compiled by
  // this process, else with ready ones. A device that has hooks compiles exact ones at once.
  Tier tier = Tier::kAuto;
  // The minimum number of runs of a program before kAuto compiles its exact kernels; 0: it never
  // does. A thread of the process compiles them in idle time (tiers/idle_time.h), those
  // first without which runs have lost the most time, and they replace the others between two runs.
  int exact_after_runs = 2;
  // Before that, runs must have lost this share of the delay that compiling is predicted to cause
  // (tiers/repayment.h); 0: only the number of runs counts.
  double exact_lost_share = 1;
  // With kAuto: a program that has no exact kernels yet is computed by the host where a run takes
  // it at most so long, and less than compiling ready kernels would; 0: never.
  double host_ms = 25;
  // Sessions and other programs with the same pool have their weights on the device once; null: one
  // of this session's own.
  std::shared_ptr<evaluator::ResidentPool> pool;
  // Called by whichever thread is about to compile the exact kernels of a program of kAuto; where
  // it fails, they have failed. For tests.
  std::function<absl::Status()> before_exact;
};

// Thread-safe: runs of one signature share its compiled program, each with its own memory. A new
// signature is compiled by the first run that brings it, while others with the same wait for it and
// runs of known ones go on. Weights are on the device once for all signatures. Where its memory
// ends, what is kept for runs to come is given back, then the signatures that were not used
// longest, and the run is tried again; ResourceExhausted where that does not help. The end of a
// session does not wait for what is compiled in its background.
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

  // The same by a thread of its own, while this one goes on; at once where the machine gives none.
  // On GPUs copies of one run go on beside kernels of another. The future's end waits for the run,
  // which must be over before the session ends.
  std::future<absl::StatusOr<std::vector<HostTensor>>> RunLater(
      std::map<std::string, HostTensor> inputs);

  // The same as Run for models with inputs or outputs that are no tensors of plain numbers.
  absl::StatusOr<std::vector<HostValue>> RunValues(const std::map<std::string, HostValue>& inputs,
                                                   RunStatistics* statistics = nullptr,
                                                   std::vector<KernelProfile>* profile = nullptr);

  // Returns once every program that has run has its exact kernels, however often it ran; compiles
  // them in this thread. The first failure, where some could not be made: those stay as they are,
  // as do all without kAuto.
  absl::Status WaitForExact();

  // The programs that runs were made of until now and that are kept, as they are now.
  absl::StatusOr<std::vector<ProgramReport>> Explain();

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tartan::api
