// SPDX-License-Identifier: Apache-2.0
// A program whose state stays on the device between runs and is updated in place: a training step,
// a decoder with its cache.
//
//   // p, v, x: placeholders; next_p, next_v, loss: lazy tensors computed from them
//   TARTAN_ASSIGN_OR_RETURN(const auto step,
//       DeviceProgram::Create(device, {{x}, {{p, next_p}, {v, next_v}}, {loss}, "step"}));
//   TARTAN_RETURN_IF_ERROR(step->Bind({p_on_device, v_on_device}));
//   for (…) TARTAN_RETURN_IF_ERROR(step->Start({batch}));
//   TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> last, step->Outputs());
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/device.h"
#include "frontend/api/device_queue.h"
#include "frontend/api/program_graph.h"
#include "frontend/api/resident/device_tensor.h"
#include "frontend/api/resident/pending_outputs.h"
#include "frontend/api/run_statistics.h"
#include "tile/compiler/kernel_list.h"
#include "tile/evaluator/bound_run.h"

namespace tartan::api {

class LoadedPrograms;  // frontend/api/programs/loaded_programs.h

struct ProgramMemory {
  int64_t states = 0;     // bytes of the bound states
  int64_t constants = 0;  // constants and values computed from constants only
  int64_t scratch = 0;    // inputs, outputs and intermediate values, which share memory
  // Parts of `scratch` at its peak. `kept`: values computed before the next value of one state
  // (`turn` of memory()) is known, and read after it, such as forward values that gradients need.
  int64_t inputs = 0;
  int64_t kept = 0;
  int64_t peak = 0;                           // maximum at any time, including states and constants
  compiler::RecomputedSteps recomputed = {};  // recomputed to meet a memory budget
};

// Scratch memory that several programs use alternately.
struct SharedScratch {
  std::vector<hal::BufferPtr> pieces;

  int64_t bytes() const {
    int64_t bytes = 0;
    for (const hal::BufferPtr& piece : pieces) bytes += piece->size();
    return bytes;
  }
};

enum class CompileWhere {
  kInProcess,
  // Separate processes (tiers/compile_in_processes.h), concurrently with runs, if there is memory
  // for them.
  kSeparateProcess,
  kCachedOnly,  // requires a program that is compiled already; NotFound otherwise
  // Exact (shape-specialised) kernels if they are compiled already, and for large programs on a
  // GPU. Otherwise the host of a CPU computes programs of little work (SessionOptions::host_ms),
  // and others have ready (dynamic-shape) kernels. Nothing replaces them.
  kSoonest,
};

// Compiled once for its sizes, then replayed. Used by one thread at a time.
//
// On a device in float64 (Device::InFloat64), float states and outputs are float64; float inputs
// may be. Indices and labels out of range are detected only in inputs and in values that little
// arithmetic computes from inputs.
class DeviceProgram {
 public:
  // Kernels have the device's tier. InvalidArgument if an input is no placeholder, or a next state
  // has another type or shape.
  static absl::StatusOr<std::unique_ptr<DeviceProgram>> Create(
      std::shared_ptr<const Device> device, ProgramGraph graph, RunStatistics* statistics = nullptr,
      CompileWhere where = CompileWhere::kInProcess);
  // Programs share constants with `loaded`, and become exact as it says: a run begins with the
  // exact (shape-specialised) kernels that the background has compiled since the last one.
  static absl::StatusOr<std::unique_ptr<DeviceProgram>> Create(
      LoadedPrograms& loaded, ProgramGraph graph, RunStatistics* statistics = nullptr,
      CompileWhere where = CompileWhere::kInProcess);
  ~DeviceProgram();

  // Binds the states, in order. InvalidArgument for a tensor of another type or shape. Several
  // programs may share tensors: their runs change them in the order of Start.
  //
  // With `scratch`, read the outputs before starting another program with the same scratch. If
  // `scratch` is too small, it grows for programs bound later.
  // `scratch` must outlive the program.
  absl::Status Bind(std::vector<DeviceTensor> states, SharedScratch* scratch = nullptr);

  // Divides each run, so that StateEvents has an event for each group of states (indices): when it
  // is reached, the states have their next values, and the run no longer uses them. The rest of the
  // run may go on. `hooks` are called by Start. Requires Bind, and holds for later ones.
  absl::Status WatchStates(std::vector<evaluator::StateGroup> groups,
                           evaluator::StateHooks hooks = {});
  // The uses of the states by the steps of a run.
  std::vector<evaluator::StateUse> StateUses() const;
  // The events of the last started run, by group.
  std::vector<hal::EventPtr> StateEvents() const;

  // Enqueues runs into this queue of the device instead of Device::queue(). The caller orders them
  // with uses of their states in other queues. Requires that the program is not bound; its scratch
  // memory must not be shared.
  void UseQueue(std::shared_ptr<DeviceQueue> queue);

  // Waits for all runs and frees the memory used only during a run. Bind must follow.
  absl::Status Unbind();

  // Enqueues one run and returns. OutOfRange, without a run, for an index or label out of range.
  // FailedPrecondition before Bind. With `may_defer`, a short run on a CPU may begin when the
  // caller waits for it or enqueues more: the host's thread then needs no command of the driver.
  absl::Status Start(absl::Span<const HostTensor> inputs, bool may_defer = false);
  // Runs once, kernel by kernel, after all earlier runs; waits for the end.
  absl::StatusOr<std::vector<KernelProfile>> Profile(absl::Span<const HostTensor> inputs);
  // The outputs of the last run, which may still be active. Does not wait unless many runs are
  // queued. Later runs do not change these outputs.
  absl::StatusOr<PendingOutputs> OutputsAsync();
  // Waits for all runs and returns the outputs of the last one. Reports their failures.
  absl::StatusOr<std::vector<HostTensor>> Outputs();
  // Waits for all runs.
  absl::Status Finish();
  // Start and Outputs. Adds kernels to `statistics`; with `profile`, kernels are timed one by one.
  // Exact kernels are requested after the run at which they repay their compilation.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs,
                                              RunStatistics* statistics,
                                              std::vector<KernelProfile>* profile);
  // Compiles exact kernels in this thread, or waits for the thread that does, and uses them. Read
  // the outputs of earlier runs before. Does nothing if the program keeps its kernels.
  absl::Status MakeExact();

  // Debugging aid: does nothing unless ComparesKernels() (tiers/compare_kernels.h). Runs this
  // program and `ready`, which it replaces, from the current states, then restores the states.
  // Internal if outputs or next states differ. Run does the same at its own change of kernels.
  absl::Status CompareWithReady(DeviceProgram& ready, absl::Span<const HostTensor> inputs);

  // `turn`: index of the state that ProgramMemory::kept refers to; nullopt: `kept` is 0.
  ProgramMemory memory(std::optional<size_t> turn = std::nullopt) const;
  int64_t kernels() const;  // launches per run
  // "ready", "exact", or "host" if the host computes the program without kernels.
  std::string tier() const;

 private:
  struct Impl;
  explicit DeviceProgram(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

// Compiles exact kernels of the graph that `make` returns, in the background, into the disk cache.
// Then calls `then`. Failures are not reported.
void CompileExactLater(std::shared_ptr<const Device> device,
                       std::function<absl::StatusOr<ProgramGraph>()> make,
                       std::function<void()> then);

}  // namespace tartan::api
