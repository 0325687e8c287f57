// SPDX-License-Identifier: Apache-2.0
// A device program that begins with kernels that are soon compiled, and goes on with exact ones
// once the background has made them. Internal to frontend/api.
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

// What one is made of.
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
  // One run; returns the outputs. `profile` may be null.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> inputs,
                                              RunStatistics* statistics,
                                              std::vector<KernelProfile>* profile);
  // Returns once it has exact kernels, or why it has none.
  absl::Status MakeExact();
  ProgramMemory memory() const { return program_->memory(); }

 private:
  struct Coming;  // what the background makes
  StepProgram(std::shared_ptr<const StepSource> source, std::unique_ptr<DeviceProgram> program,
              bool is_ready);
  void AskForExact();
  absl::Status TakeExact(absl::Span<const HostTensor> inputs);

  const std::shared_ptr<const StepSource> source_;
  std::unique_ptr<DeviceProgram> program_;
  bool is_ready_ = false;
  bool has_told_failure_ = false;
  Repayment repayment_;
  std::vector<DeviceTensor> bound_;
  std::shared_ptr<Coming> coming_;
};

// Has the background compile the exact kernels of what `make` gives into the disk cache, and then
// calls `then`. A failure is not told.
void CompileExactLater(std::function<absl::StatusOr<StepSource>()> make,
                       std::function<void()> then);

}  // namespace tartan::api
