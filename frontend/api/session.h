// SPDX-License-Identifier: Apache-2.0
// Runs a model on a device: binds it to the shapes of its inputs, compiles once per signature,
// keeps weights on the device. A model whose graph depends on computed values runs as several
// programs. Each is compiled once per path of a run.
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
#include "frontend/api/model.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tier.h"

namespace tartan::evaluator {
class ResidentPool;  // tile/evaluator/resident_buffers.h
}
namespace tartan::plan {
enum class Winograd : uint8_t;  // tile/plan/select/select_winograd.h
}

namespace tartan::api {

struct ProgramReport;  // frontend/api/explain/program_report.h

struct SessionOptions {
  // Maximum number of compiled signatures, and of successors of a point where values decide; LRU
  // eviction.
  int max_signatures = 16;
  // If set, indices, lengths and labels out of range at run time (check.h) are clamped or
  // skipped instead of failing the run. No other element is written either way.
  bool unchecked = false;
  // Use of Winograd's algorithm for this model's convolutions. kNever is for inputs that may have
  // infinities or NaN, which it spreads over whole tiles. Unset: as the device.
  std::optional<plan::Winograd> winograd;
  // Precision of this model's matmuls on tensor cores, on a CPU, or in integers
  // (Device::WithPrecision). Unset: as the device.
  std::optional<Precision> precision;
  // `kAuto`: a signature starts with exact (shape-specialised) kernels if they are on disk or this
  // process has compiled them, otherwise with ready (dynamic-shape) ones. A device with hooks
  // compiles exact kernels at once.
  Tier tier = Tier::kAuto;
  // Minimum number of runs of a program before kAuto compiles its exact kernels; 0: never. A
  // background thread compiles them in idle time (background/idle_time.h), first where runs have
  // lost the most time. The kernels are exchanged between two runs.
  int exact_after_runs = 2;
  // Share of the predicted delay by compilation that runs must have lost before
  // (tiers/repayment.h); 0: only the number of runs counts.
  double exact_lost_share = 1;
  // Maximum time in ms for which the host computes a run of a program without exact kernels
  // (kAuto). It does so only if that is faster than compiling ready kernels. 0: never.
  double host_ms = 25;
  // Sessions and programs with the same pool share weights on the device; null: a pool of this
  // session only.
  std::shared_ptr<evaluator::ResidentPool> pool;
  // Called before exact kernels of a program are compiled with kAuto, by the compiling thread. A
  // failure counts as a failure of the compilation. For tests.
  std::function<absl::Status()> before_exact;
};

// Thread-safe: runs of one signature share its compiled program, each with its own memory. The
// first run of a new signature compiles it. Other runs with that signature wait; runs with known
// signatures continue. All signatures share the weights on the device.
//
// If device memory is exhausted, the session frees the memory kept for later runs, then signatures
// in LRU order, and retries. ResourceExhausted if that does not help. Destroying a session does not
// wait for background compilations.
class Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<const Model> model,
                                                         std::shared_ptr<Device> device,
                                                         SessionOptions options = {});
  ~Session();

  const Model& model() const;
  Device& device() const;

  // Takes inputs by name; inputs with a default may be left out. Returns outputs in the order of
  // model().outputs(). `statistics` and `profile` may be null; with `profile`, kernels are timed
  // one by one.
  // - InvalidArgument: an unknown name (listing the model's names), a missing input, a wrong type,
  //   or a shape that contradicts the model.
  // - OutOfRange: an index out of range, naming its node.
  absl::StatusOr<std::vector<HostTensor>> Run(const std::map<std::string, HostTensor>& inputs,
                                              RunStatistics* statistics = nullptr,
                                              std::vector<KernelProfile>* profile = nullptr);

  // Runs in a separate thread; in this one if no thread can be started. On GPUs, copies of one run
  // overlap with kernels of another. The future's destructor waits for the run, which must end
  // before the session does.
  std::future<absl::StatusOr<std::vector<HostTensor>>> RunAsync(
      std::map<std::string, HostTensor> inputs);

  // Run for models with inputs or outputs that are not tensors of plain elements.
  absl::StatusOr<std::vector<HostValue>> RunValues(const std::map<std::string, HostValue>& inputs,
                                                   RunStatistics* statistics = nullptr,
                                                   std::vector<KernelProfile>* profile = nullptr);

  // Compiles exact kernels in this thread for every program that has run, regardless of its number
  // of runs. Returns the first failure; programs whose kernels failed stay as they are. Does
  // nothing unless the tier is kAuto.
  absl::Status WaitForExact();

  // Reports of the programs of past runs that are still loaded, in their current state.
  absl::StatusOr<std::vector<ProgramReport>> Explain();

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tartan::api
