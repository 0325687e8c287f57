// SPDX-License-Identifier: Apache-2.0
// A program on a device that computes tensors from placeholders, together with the checks of the
// values it computes.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "frontend/api/checks/input_check.h"
#include "frontend/api/programs/loaded_programs.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

// Checks of inputs, and of values that little arithmetic computes from them, run on the host while
// the device works. Other checks become outputs of the program: the values themselves if they are
// few, otherwise their status (StatusOf). Thread-safe.
class CompiledFunction {
 public:
  CompiledFunction() = default;
  // `placeholders` may contain undefined ones, for which Run gets no value. `is_checked` false:
  // without checks.
  static absl::StatusOr<CompiledFunction> Make(LoadedPrograms& programs,
                                               absl::Span<const Tensor> placeholders,
                                               absl::Span<const Tensor> wanted,
                                               absl::string_view name, bool is_checked,
                                               RunStatistics* statistics);

  // Returns the wanted tensors in order; `values` has one value per placeholder. OutOfRange reports
  // the first check that fails. Adds number and kind of the kernels to `statistics`. If the device
  // computes in float64, all float results are float64 and float inputs may be.
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> values,
                                              RunStatistics* statistics,
                                              std::vector<KernelProfile>* profile) const;

 private:
  // Source of a wanted tensor: a constant, a placeholder's value, or the next program output.
  enum class From : uint8_t { kConstant, kPlaceholder, kProgram };
  struct Source {
    From from = From::kConstant;
    HostTensor constant;
    int placeholder = 0;
  };
  struct OutputCheck {
    std::shared_ptr<const Check> check;
    size_t output = 0;  // index of the program output
    bool is_status = false;
  };
  struct Failure {
    absl::Status status;
    int64_t order = std::numeric_limits<int64_t>::max();
  };

  // Adds outputs that checks need to `computed`, which the program computes from `inputs`.
  absl::Status AddChecks(absl::Span<const Tensor> inputs, std::vector<Tensor>* computed);
  Failure CheckInputs(absl::Span<const HostTensor> inputs) const;
  absl::StatusOr<std::vector<HostTensor>> RunProgram(absl::Span<const HostTensor> inputs,
                                                     RunStatistics* statistics,
                                                     std::vector<KernelProfile>* profile) const;

  std::vector<Source> sources_;  // one per wanted tensor
  bool in_float64_ = false;
  std::vector<int> inputs_;                 // indices of the placeholders that the program reads
  std::shared_ptr<TieredProgram> program_;  // null if there is nothing to compute
  double tolerance_ = 0;  // tolerance for shape-specialised against dynamic-shape kernels
  std::vector<InputCheck> input_checks_;
  std::vector<OutputCheck> output_checks_;
};

}  // namespace tartan::api
