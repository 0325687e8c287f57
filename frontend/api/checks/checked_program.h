// SPDX-License-Identifier: Apache-2.0
// A program on a device together with the checks of what it computes. Internal to frontend/api.
#pragma once

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "frontend/api/checks/checked_tensor.h"
#include "frontend/api/checks/input_check.h"
#include "frontend/api/load.h"

namespace tartan::api {

// Checks of numbers, by order: those of inputs, and of what little arithmetic makes of them, are
// made on the host, where their values are at hand, while the device works. Others are outputs of
// the program: the numbers themselves where they are few, else what StatusOf makes of them.
class CheckedProgram {
 public:
  CheckedProgram() = default;
  // As Load; `is_checked` false: without checks.
  static absl::StatusOr<CheckedProgram> Make(const Device& device,
                                             absl::Span<const Tensor> placeholders,
                                             absl::Span<const Tensor> outputs,
                                             absl::string_view name, bool is_checked,
                                             RunStatistics* statistics,
                                             LoadedPrograms* shared = nullptr);

  bool is_loaded() const { return loaded_ != nullptr; }

  // As LoadedProgram::Run; OutOfRange telling the first check that fails. Adds to `statistics` the
  // program's kernels, and which they are.
  absl::StatusOr<std::vector<HostTensor>> Run(
      absl::Span<const HostTensor> inputs, RunStatistics* statistics,
      std::vector<evaluator::KernelTime>* profile = nullptr) const;

 private:
  struct OutputCheck {
    std::shared_ptr<const Check> check;
    size_t output = 0;  // of the program
    bool is_status = false;
  };
  struct Failure {
    absl::Status status;
    int64_t order = std::numeric_limits<int64_t>::max();
  };

  Failure CheckInputs(absl::Span<const HostTensor> inputs) const;

  std::shared_ptr<TieredProgram> loaded_;
  double tolerance_ = 0;  // of exact kernels' results, where they are compared with ready ones'
  size_t wanted_ = 0;     // outputs of the program that are asked for; those of checks follow
  std::vector<InputCheck> input_checks_;
  std::vector<OutputCheck> output_checks_;
};

// The numbers of what StatusOf computes.
std::vector<uint64_t> StatusNumbers(const HostTensor& status);

}  // namespace tartan::api
