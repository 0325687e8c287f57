// SPDX-License-Identifier: Apache-2.0
// A program on a device together with the checks of the values it computes. Internal to
// frontend/api.
#pragma once

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "frontend/api/checks/checked_tensor.h"
#include "frontend/api/checks/input_check.h"
#include "frontend/api/load.h"

namespace tartan::api {

// Runs a program and its checks, in their order. Checks of inputs, and of values that little
// arithmetic computes from them, run on the host while the device works. Other checks become
// outputs of the program: the values themselves if they are few, otherwise their status (StatusOf).
class CheckedProgram {
 public:
  CheckedProgram() = default;
  // Like Load; `is_checked` false: without checks.
  static absl::StatusOr<CheckedProgram> Make(LoadedPrograms& programs,
                                             absl::Span<const Tensor> placeholders,
                                             absl::Span<const Tensor> outputs,
                                             absl::string_view name, bool is_checked,
                                             RunStatistics* statistics);

  bool is_loaded() const { return loaded_ != nullptr; }

  // Like LoadedProgram::Run; OutOfRange reports the first check that fails. Adds the number and
  // kind of the program's kernels to `statistics`.
  absl::StatusOr<std::vector<HostTensor>> Run(
      absl::Span<const HostTensor> inputs, RunStatistics* statistics,
      std::vector<evaluator::KernelTime>* profile = nullptr) const;

 private:
  struct OutputCheck {
    std::shared_ptr<const Check> check;
    size_t output = 0;  // index of the program output
    bool is_status = false;
  };
  struct Failure {
    absl::Status status;
    int64_t order = std::numeric_limits<int64_t>::max();
  };

  Failure CheckInputs(absl::Span<const HostTensor> inputs) const;

  std::shared_ptr<TieredProgram> loaded_;
  double tolerance_ = 0;  // tolerance for shape-specialised against dynamic-shape kernels
  size_t wanted_ = 0;     // number of requested outputs; outputs for checks follow
  std::vector<InputCheck> input_checks_;
  std::vector<OutputCheck> output_checks_;
};

// The elements of a status tensor that StatusOf computes.
std::vector<uint64_t> StatusNumbers(const HostTensor& status);

}  // namespace tartan::api
