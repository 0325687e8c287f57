// SPDX-License-Identifier: Apache-2.0
// A device program that starts with ready (dynamic-shape) kernels and switches to exact
// (shape-specialised) ones once the background has compiled them. Internal to frontend/api.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frontend/api/resident/device_program.h"
#include "frontend/api/tiers/repayment.h"
#include "frontend/api/tiers/tier.h"
#include "tile/evaluator/resident_buffers.h"

namespace tartan::api {

// Arguments of StepProgram::Create.
struct StepSource {
  std::shared_ptr<const Device> device;
  std::vector<Tensor> inputs;
  std::vector<ProgramState> states;
  std::vector<Tensor> outputs;
  std::string name;
  Tier tier = Tier::kAuto;
  RepaymentRule rule = {};
  std::shared_ptr<evaluator::ResidentPool> pool;
};

// Used by one thread at a time.
class StepProgram {
 public:
  static absl::StatusOr<std::unique_ptr<StepProgram>> Create(StepSource source,
                                                             RunStatistics* statistics);
  ~StepProgram();

  absl::Status Bind(std::vector<DeviceTensor> states);
  // Runs once and returns the outputs. `profile` may be null.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs,
                                              RunStatistics* statistics,
                                              std::vector<KernelProfile>* profile);
  // Waits until exact kernels are in use; returns the failure if they cannot be made.
  absl::Status MakeExact();
  ProgramMemory memory() const { return program_->memory(); }

 private:
  struct ExactCompilation;  // result of the background compilation
  StepProgram(std::shared_ptr<const StepSource> source, std::unique_ptr<DeviceProgram> program,
              bool is_ready);
  void RequestExact();
  absl::Status TakeExact(absl::Span<const HostTensor> inputs);

  const std::shared_ptr<const StepSource> source_;
  std::unique_ptr<DeviceProgram> program_;
  bool is_ready_ = false;
  bool has_reported_failure_ = false;
  Repayment repayment_;
  std::vector<DeviceTensor> bound_;
  std::shared_ptr<ExactCompilation> exact_compilation_;
};

// Compiles the exact kernels of the source that `make` returns, in the background, into the disk
// cache. Then calls `then`. Failures are not reported.
void CompileExactLater(std::function<absl::StatusOr<StepSource>()> make,
                       std::function<void()> then);

}  // namespace tartan::api
