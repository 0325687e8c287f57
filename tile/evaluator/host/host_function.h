// SPDX-License-Identifier: Apache-2.0
// A function that the host computes without kernels: a program, or the body of a loop. It gives the
// naive evaluator's results (tile/ir/naive_evaluator.h), which also computes the operations without
// fast loops here.
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
class HostFunction {
 public:
  // Null if the index arithmetic of some contraction could overflow.
  static absl::StatusOr<std::shared_ptr<const HostFunction>> Create(ir::Program program);

  const ir::Program& program() const { return program_; }
  // Estimated time of Load and of Run on one core. It depends on sizes only, so that all machines
  // agree.
  double load_ns() const { return load_ns_; }
  double run_ns() const { return run_ns_; }
  // The kernels that a device would need, about.
  int kernels() const { return kernels_; }

  // Values that depend on constants alone, computed once.
  struct Known {
    std::vector<std::shared_ptr<const ir::NaiveTensor>> values;  // null if executions compute it
    std::vector<HostTensor> constants;                           // by input; empty for other inputs
  };
  // `constants` are in the order of the constant inputs. InvalidArgument if their shapes are wrong.
  absl::StatusOr<Known> Load(absl::Span<const HostTensor> constants) const;
  // `inputs` are the other inputs, in order; returns the outputs in order.
  absl::StatusOr<std::vector<HostTensor>> Run(const Known& known,
                                              absl::Span<const HostTensor> inputs) const;

 private:
  explicit HostFunction(ir::Program program);
  void Estimate();
  double Nanoseconds(ir::ValueId id) const;  // of computing the value
  // The values computed so far.
  using Values = std::vector<std::shared_ptr<const ir::NaiveTensor>>;
  absl::StatusOr<std::vector<HostTensor>> Arrange(absl::Span<const HostTensor> given,
                                                  bool constants) const;
  ir::NaiveTensor Evaluate(ir::ValueId id, const Values& values) const;

  const ir::Program program_;
  const std::vector<bool> is_constant_;  // per value: depends on constants alone
  std::vector<std::optional<HostContraction>> contractions_;  // by value
  double load_ns_ = 0;
  double run_ns_ = 0;
  int kernels_ = 0;
};

}  // namespace tartan::evaluator
