// SPDX-License-Identifier: Apache-2.0
// A program that the host computes by itself, without a kernel: for work so small that compiling
// kernels for it would take longer. Its numbers are those of the naive evaluator
// (tile/ir/naive_evaluator.h), whose functions compute what has no quick loops here.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/base/host_tensor.h"
#include "tile/evaluator/host/contraction.h"
#include "tile/ir/naive_tensor.h"
#include "tile/ir/program.h"

namespace tartan::evaluator {

// Immutable, and so thread-safe.
class HostProgram {
 public:
  // Null where numbers of some contraction are too large to count with.
  static absl::StatusOr<std::shared_ptr<const HostProgram>> Create(ir::Program program);

  // What a run takes on one core, as far as it can be told from sizes: the same on every machine.
  double milliseconds() const { return milliseconds_; }
  // Whether `times` runs take at most `most_ms`, and less than a device would take to compile the
  // kernels that it needs at least.
  bool IsSoonerThanKernels(double most_ms, int64_t times) const;
  const TensorShape& output_shape(size_t output) const {
    return program_.values[program_.outputs[output]].shape;
  }

  // What depends on constants alone, computed once.
  struct Known {
    std::vector<std::shared_ptr<const ir::NaiveTensor>> values;  // null where runs compute it
    std::vector<HostTensor> constants;                           // by input; empty for others
  };
  // `constants` in the order of the program's constant inputs; InvalidArgument where they are not
  // of their shapes.
  absl::StatusOr<Known> Load(absl::Span<const HostTensor> constants) const;
  // `inputs` are the other ones, in order; returns the outputs in order.
  absl::StatusOr<std::vector<HostTensor>> Run(const Known& known,
                                              absl::Span<const HostTensor> inputs) const;

 private:
  explicit HostProgram(ir::Program program);
  void Estimate();
  // The values at hand while it is computed.
  using Values = std::vector<std::shared_ptr<const ir::NaiveTensor>>;
  absl::StatusOr<std::vector<HostTensor>> Arrange(absl::Span<const HostTensor> given,
                                                  bool constants) const;
  ir::NaiveTensor Evaluate(ir::ValueId id, const Values& values) const;

  const ir::Program program_;
  const std::vector<bool> is_constant_;  // of each value: it depends on constants alone
  std::vector<std::optional<HostContraction>> contractions_;  // by value
  double milliseconds_ = 0;
  int kernels_ = 0;
};

}  // namespace tartan::evaluator
