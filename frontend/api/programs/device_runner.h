// SPDX-License-Identifier: Apache-2.0
// Runs calls (Call) on a device. Internal to frontend/api.
#pragma once

#include <memory>
#include <mutex>

#include "frontend/api/checked_tensor.h"
#include "frontend/api/programs/loaded_programs.h"
#include "frontend/api/repeat.h"
#include "frontend/api/run_statistics.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::api {

// Runs one call, whose body it compiles once. Thread-safe.
class DeviceRunner {
 public:
  // `is_checked` false: skips the body's checks.
  DeviceRunner(LoadedPrograms& programs, bool is_checked)
      : programs_(programs), is_checked_(is_checked) {}

  // Adds to `statistics` the compile time of the body if this run compiled it. Returns OutOfRange
  // if a check of the body fails in any iteration; the loop condition ends early in that case.
  absl::StatusOr<std::vector<HostTensor>> Run(const Call& call,
                                              absl::Span<const HostTensor> operands,
                                              RunStatistics* statistics);

 private:
  class OneRun;
  struct OperandCheck {
    std::shared_ptr<const Check> check;
    size_t operand = 0;
  };
  struct Loaded {
    std::shared_ptr<TieredProgram> program;
    // Checks of operands that the body reads unchanged; run before the first iteration.
    std::vector<OperandCheck> operand_checks;
    // All other checks. Their statuses, concatenated, form one more loop state.
    std::vector<std::shared_ptr<const Check>> state_checks;
    int64_t statuses = 0;
  };

  absl::StatusOr<std::vector<HostTensor>> Repeat(const RepeatBody& body,
                                                 absl::Span<const HostTensor> operands,
                                                 RunStatistics* statistics);
  absl::StatusOr<const Loaded*> Load(const RepeatBody& body, RunStatistics* statistics);
  // Adds the checks whose values change per iteration to the body, as one more state.
  static absl::Status AddState(const std::vector<CheckedTensor>& checks, RepeatBody* body);
  absl::StatusOr<Loaded> Compile(const RepeatBody& body, RunStatistics* statistics) const;

  LoadedPrograms& programs_;
  const bool is_checked_;
  std::mutex mutex_;
  std::unique_ptr<const Loaded> loaded_;  // guarded by mutex_ until set, then constant
};

}  // namespace tartan::api
