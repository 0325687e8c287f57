// SPDX-License-Identifier: Apache-2.0
// A program whose state stays on the device between runs and is updated in place: a training step,
// a decoder with its cache.
//
//   // p, v, x: placeholders; next_p, next_v, loss: lazy tensors computed from them
//   TARTAN_ASSIGN_OR_RETURN(const auto step,
//       DeviceProgram::Create(device, {x}, {{p, next_p}, {v, next_v}}, {loss}, "step"));
//   TARTAN_RETURN_IF_ERROR(step->Bind({p_on_device, v_on_device}));
//   for (…) TARTAN_RETURN_IF_ERROR(step->Start({batch}));
//   TARTAN_ASSIGN_OR_RETURN(const std::vector<HostTensor> last, step->Outputs());
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/device.h"
#include "frontend/api/resident/device_tensor.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tensor.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::evaluator {
class CompiledProgram;
class ResidentPool;
}  // namespace tartan::evaluator

namespace tartan::api {

struct ProgramState {
  Tensor input;  // a placeholder
  Tensor next;   // same type and sizes as `input`; undefined: the state is read-only
};

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

  int64_t bytes() const;
};

// Outputs of a started run. Thread-safe.
class PendingOutputs {
 public:
  // Waits for the run and all earlier runs, and reports their failures.
  absl::StatusOr<std::vector<HostTensor>> Wait() const;

 private:
  friend class DeviceProgram;
  std::vector<HostTensor> outputs_;
  hal::EventPtr read_;
};

enum class CompileWhere {
  kInProcess,
  // Separate processes (tiers/compile_in_processes.h), concurrently with runs, if there is memory
  // for them.
  kSeparateProcess,
  kCachedOnly,  // requires a program that is compiled already; NotFound otherwise
};

// Compiled once for its sizes, then replayed. Used by one thread at a time.
//
// On a device in float64 (Device::InFloat64), float states and outputs are float64; float inputs
// may be. Indices and labels out of range are detected only in inputs and in values that little
// arithmetic computes from inputs.
class DeviceProgram {
 public:
  // `inputs` are placeholders that get a value in each run. Together with the states they are all
  // that `outputs` and the next states depend on. Kernels have the device's tier. Programs with the
  // same `pool`, which may be null, share constants. InvalidArgument if an input is no placeholder,
  // or a next state has another type or shape.
  static absl::StatusOr<std::unique_ptr<DeviceProgram>> Create(
      std::shared_ptr<const Device> device, std::vector<Tensor> inputs,
      std::vector<ProgramState> states, std::vector<Tensor> outputs, absl::string_view name,
      RunStatistics* statistics = nullptr, CompileWhere where = CompileWhere::kInProcess,
      evaluator::ResidentPool* pool = nullptr);
  ~DeviceProgram();

  // Compiles the program that Create would make, as `where` says.
  static absl::Status Compile(std::shared_ptr<const Device> device, std::vector<Tensor> inputs,
                              std::vector<ProgramState> states, std::vector<Tensor> outputs,
                              absl::string_view name, CompileWhere where);

  // Returns the program that Create would make, for people to read. No kernel is built and nothing
  // can be run.
  static absl::StatusOr<evaluator::PlannedProgram> Plan(const Device& device,
                                                        std::vector<Tensor> inputs,
                                                        std::vector<ProgramState> states,
                                                        std::vector<Tensor> outputs,
                                                        absl::string_view name);

  // Binds the states, in order. InvalidArgument for a tensor of another type or shape. Several
  // programs may share tensors: their runs change them in the order of Start.
  //
  // With `scratch`, read the outputs before starting another program with the same scratch. If
  // `scratch` is too small, it grows for programs bound later.
  absl::Status Bind(std::vector<DeviceTensor> states, SharedScratch* scratch = nullptr);

  // Waits for all runs and frees the memory used only during a run. Bind must follow.
  absl::Status Unbind();

  // Enqueues one run and returns. OutOfRange, without a run, for an index or label out of range.
  // FailedPrecondition before Bind.
  absl::Status Start(absl::Span<const HostTensor> inputs);
  // Runs once, kernel by kernel, after all earlier runs; waits for the end.
  absl::StatusOr<std::vector<KernelProfile>> Profile(absl::Span<const HostTensor> inputs);
  // The outputs of the last run, which may still be active. Does not wait unless many runs are
  // queued. Later runs do not change these outputs.
  absl::StatusOr<PendingOutputs> OutputsAsync();
  // Waits for all runs and returns the outputs of the last one. Reports their failures.
  absl::StatusOr<std::vector<HostTensor>> Outputs();
  // Waits for all runs.
  absl::Status Finish();

  // Debugging aid: does nothing unless ComparesKernels() (tiers/compare_kernels.h). Runs this
  // program and `ready`, which it replaces, from the current states, then restores the states.
  // Internal if outputs or next states differ.
  absl::Status CompareWithReady(DeviceProgram& ready, absl::Span<const HostTensor> inputs);

  // `turn`: index of the state that ProgramMemory::kept refers to; nullopt: `kept` is 0.
  ProgramMemory memory(std::optional<size_t> turn = std::nullopt) const;
  int64_t kernels() const;  // launches per run
  const evaluator::CompiledProgram& compiled() const;

 private:
  struct Impl;
  explicit DeviceProgram(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tartan::api
