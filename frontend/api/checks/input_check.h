// SPDX-License-Identifier: Apache-2.0
// A check of numbers that follow from a program's inputs by a little arithmetic, made on the host
// where the inputs' values are. Internal to frontend/api.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/checks/checked_tensor.h"
#include "tile/ir/program.h"

namespace tartan::api {

class InputCheck {
 public:
  // Nothing where the values are no input and more than a little work, or floats have a part in
  // them. `inputs` are placeholders.
  static absl::StatusOr<std::optional<InputCheck>> Make(const CheckedTensor& checked,
                                                        absl::Span<const Tensor> inputs);

  const Check& check() const { return *check_; }

  // `values` of the inputs, in order. OutOfRange telling the first number that is out of range.
  absl::Status Run(absl::Span<const HostTensor> values) const;

 private:
  // Whether the inputs' least and greatest elements alone leave nothing out of range.
  bool IsProven(absl::Span<const HostTensor> inputs) const;

  std::shared_ptr<const Check> check_;
  std::vector<size_t> inputs_;  // those that are read: of the program, or the numbers as they are
  std::vector<HostTensor> constants_;           // further inputs of the program
  std::shared_ptr<const ir::Program> program_;  // null where the numbers are an input
};

}  // namespace tartan::api
