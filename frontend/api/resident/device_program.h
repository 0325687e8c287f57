// SPDX-License-Identifier: Apache-2.0
// A program whose state stays on the device from run to run and changes in place: a training step,
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
  Tensor next;   // of its type and sizes; undefined: it is only read
};

struct ProgramMemory {
  int64_t states = 0;     // bytes of what it is bound to
  int64_t constants = 0;  // and what is computed from them alone
  int64_t scratch = 0;    // inputs, outputs and values on the way, which share memory
  // Of scratch, where most is needed.
  int64_t inputs = 0;
  int64_t kept = 0;  // made on the way to a state's next value, and read once that is known
  int64_t peak = 0;  // the most that is there at a time, states and constants with it
  compiler::RecomputedSteps recomputed = {};  // for a memory budget
};

// Memory that several programs use in turns, for what is there during a run alone.
struct SharedScratch {
  std::vector<hal::BufferPtr> pieces;

  int64_t bytes() const;
};

// Outputs of a run that has been started. Thread-safe.
class ComingOutputs {
 public:
  // Waits for the run and those before it. A failure of theirs is reported here.
  absl::StatusOr<std::vector<HostTensor>> Wait() const;

 private:
  friend class DeviceProgram;
  std::vector<HostTensor> outputs_;
  hal::EventPtr read_;
};

enum class CompileWhere {
  kHere,
  kApart,    // beside runs, in processes of their own (tiers/compile_apart.h) where there is room
  kNowhere,  // what is compiled already is taken; NotFound where it is not
};

// On a device in float64 (Device::InFloat64) float states and outputs are float64; inputs are as
// declared, or float64 already.
//
// Compiled once for its sizes, and replayed. Used by one thread at a time. Indices and labels that
// are out of range are found where they are inputs, or follow from them by little arithmetic.
class DeviceProgram {
 public:
  // `inputs` are placeholders whose values each run is given; with the states they are all that
  // `outputs` and the next states depend on. Kernels are those of the device's tier.
  // InvalidArgument for what is no placeholder, and for a next state of another type or other
  // sizes. Programs with the same `pool`, which may be null, have constants in common.
  static absl::StatusOr<std::unique_ptr<DeviceProgram>> Create(
      std::shared_ptr<const Device> device, std::vector<Tensor> inputs,
      std::vector<ProgramState> states, std::vector<Tensor> outputs, absl::string_view name,
      RunStatistics* statistics = nullptr, CompileWhere where = CompileWhere::kHere,
      evaluator::ResidentPool* pool = nullptr);
  ~DeviceProgram();

  // Compiles what Create makes of the same, as `where` says.
  static absl::Status Compile(std::shared_ptr<const Device> device, std::vector<Tensor> inputs,
                              std::vector<ProgramState> states, std::vector<Tensor> outputs,
                              absl::string_view name, CompileWhere where);

  // What Create makes of the same, for people to read: no kernel is built, nothing can be run.
  static absl::StatusOr<evaluator::PlannedProgram> Plan(const Device& device,
                                                        std::vector<Tensor> inputs,
                                                        std::vector<ProgramState> states,
                                                        std::vector<Tensor> outputs,
                                                        absl::string_view name);

  // The states in their order. InvalidArgument for a tensor of another type or other sizes. Several
  // programs may be bound to the same tensors: their runs change them in the order of Start. With
  // `scratch`, outputs are to be read before a run of another program that has it is started; where
  // it is too small, it grows for those that are bound from then on.
  absl::Status Bind(std::vector<DeviceTensor> states, SharedScratch* scratch = nullptr);

  // Waits for all runs, and gives back the memory that is there during a run alone: Bind comes
  // next.
  absl::Status Unbind();

  // Puts one run into the device's queue, and returns. OutOfRange for an index or label that is out
  // of range: nothing is run then. FailedPrecondition before Bind.
  absl::Status Start(absl::Span<const HostTensor> inputs);
  // One run, kernel by kernel; waits for all runs before it, and for it.
  absl::StatusOr<std::vector<KernelProfile>> Profile(absl::Span<const HostTensor> inputs);
  // The outputs of the last run, which may be under way: nothing is waited for unless many runs
  // are. Later runs do not change them.
  absl::StatusOr<ComingOutputs> OutputsLater();
  // Waits for all runs, and gives the outputs of the last one. Their failures are reported here.
  absl::StatusOr<std::vector<HostTensor>> Outputs();
  // Waits for all runs.
  absl::Status Finish();

  // For debugging: does nothing unless ComparesKernels() (tiers/compare_kernels.h) says so. Runs
  // this program and `ready`, the one that it replaces, from the present states, and gives the
  // states back the values that they had. Internal where outputs or next states differ.
  absl::Status CheckSwap(DeviceProgram& ready, absl::Span<const HostTensor> inputs);

  // `turn`: the position of the state of ProgramMemory::kept; none: nothing counts as kept.
  ProgramMemory memory(std::optional<size_t> turn = std::nullopt) const;
  int64_t kernels() const;  // launched in a run
  const evaluator::CompiledProgram& compiled() const;

 private:
  struct Impl;
  explicit DeviceProgram(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace tartan::api
