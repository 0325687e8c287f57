// SPDX-License-Identifier: Apache-2.0
// A check of values that follow from a program's inputs by little arithmetic, evaluated on the
// host, where the inputs are. Internal to frontend/api.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/checked_tensor.h"
#include "tile/ir/program.h"

namespace tartan::api {

class InputCheck {
 public:
  // Returns nullopt if the values are neither an input nor cheap to compute from inputs, or if
  // floats are involved. `inputs` are placeholders.
  static absl::StatusOr<std::optional<InputCheck>> Make(const CheckedTensor& checked,
                                                        absl::Span<const Tensor> inputs);

  const Check& check() const { return *check_; }

  // `values` has one value per input, in order. Returns OutOfRange reporting the first value out of
  // range.
  absl::Status Run(absl::Span<const HostTensor> values) const;

 private:
  // Returns true if the inputs' minimum and maximum elements prove that no value is out of range.
  bool IsProven(absl::Span<const HostTensor> inputs) const;

  std::shared_ptr<const Check> check_;
  // Indices of the inputs that the program reads, or of the checked input.
  std::vector<size_t> inputs_;
  std::vector<HostTensor> constants_;           // further inputs of the program
  std::shared_ptr<const ir::Program> program_;  // null if an input is checked directly
};

}  // namespace tartan::api
