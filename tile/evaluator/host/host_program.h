// SPDX-License-Identifier: Apache-2.0
// A program that the host computes without kernels, for work so small that compiling kernels would
// take longer. It gives the naive evaluator's results (tile/ir/naive_evaluator.h), which also
// computes the operations without fast loops here.
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
  // Null if the index arithmetic of some contraction could overflow.
  static absl::StatusOr<std::shared_ptr<const HostProgram>> Create(ir::Program program);

  const ir::Program& program() const { return program_; }
  // Estimated time of one execution on one core. It depends on sizes only, so that all machines
  // agree.
  double milliseconds() const { return milliseconds_; }
  // Returns whether `times` executions take at most `most_ms`, and less than compiling the kernels
  // that a device would need.
  bool IsFasterThanKernels(double most_ms, int64_t times) const;
  const TensorShape& output_shape(size_t output) const {
    return program_.values[program_.outputs[output]].shape;
  }

  // Values that depend on constants alone, computed once.
  struct Known {
    std::vector<std::shared_ptr<const ir::NaiveTensor>> values;  // null if executions compute it
    std::vector<HostTensor> constants;                           // by input; empty for other inputs
  };
  // `constants` are in the order of the program's constant inputs. InvalidArgument if their shapes
  // are wrong.
  absl::StatusOr<Known> Load(absl::Span<const HostTensor> constants) const;
  // `inputs` are the other inputs, in order; returns the outputs in order.
  absl::StatusOr<std::vector<HostTensor>> Run(const Known& known,
                                              absl::Span<const HostTensor> inputs) const;

 private:
  explicit HostProgram(ir::Program program);
  void Estimate();
  // The values computed so far.
  using Values = std::vector<std::shared_ptr<const ir::NaiveTensor>>;
  absl::StatusOr<std::vector<HostTensor>> Arrange(absl::Span<const HostTensor> given,
                                                  bool constants) const;
  ir::NaiveTensor Evaluate(ir::ValueId id, const Values& values) const;

  const ir::Program program_;
  const std::vector<bool> is_constant_;  // per value: depends on constants alone
  std::vector<std::optional<HostContraction>> contractions_;  // by value
  double milliseconds_ = 0;
  int kernels_ = 0;
};

}  // namespace tartan::evaluator
