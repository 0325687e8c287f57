// SPDX-License-Identifier: Apache-2.0
// A program that the host computes without kernels, for work so small that compiling kernels would
// take longer. Its parts run in order, and a part may be the body of a loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/base/host_tensor.h"
#include "tile/evaluator/host/host_function.h"
#include "tile/ir/program.h"

namespace tartan::evaluator {

struct HostInput {
  std::string name;
  TensorShape shape;
  bool is_constant = false;
  bool is_state = false;
  int next = -1;  // the output that is the next value of this state, or -1
};

// A part of a program. Values are numbered: the inputs of the program, then the results of each
// part. compiler::ProgramPart (tile/compiler/link_parts.h) has the same members.
struct HostPart {
  ir::Program program;
  std::vector<int> arguments;  // the value of each input of `program`
  int64_t iterations = 0;      // 0: the part runs once
  int states = 0;
  int slices = 0;
  bool reversed = false;
  std::vector<int64_t> row_elements = {};
};

struct HostParts {
  std::vector<HostInput> inputs;
  std::vector<HostPart> parts;
  std::vector<int> outputs;  // values
};

// A program of one part.
HostParts PartsOf(ir::Program program);

// Immutable, and so thread-safe.
class HostProgram {
 public:
  // Null if the index arithmetic of some contraction could overflow.
  static absl::StatusOr<std::shared_ptr<const HostProgram>> Create(ir::Program program);
  // InvalidArgument if an argument has another shape than the input of its part.
  static absl::StatusOr<std::shared_ptr<const HostProgram>> Create(HostParts parts);

  const std::vector<HostInput>& inputs() const { return inputs_; }
  const TensorShape& output_shape(size_t output) const { return shapes_[outputs_[output]]; }
  // Estimated time of one execution on one core. It depends on sizes only, so that all machines
  // agree.
  double milliseconds() const { return milliseconds_; }
  // Returns whether `times` executions take at most `most_ms`, and less than compiling the kernels
  // that a device would need.
  bool IsFasterThanKernels(double most_ms, int64_t times) const;

  struct Known {
    std::vector<HostTensor> constants;          // by input; empty for other inputs
    std::vector<HostFunction::Known> of_parts;  // empty for loops
  };
  // `constants` are in the order of the program's constant inputs. InvalidArgument if their shapes
  // are wrong.
  absl::StatusOr<Known> Load(absl::Span<const HostTensor> constants) const;
  // `inputs` are the other inputs, in order; returns the outputs in order.
  absl::StatusOr<std::vector<HostTensor>> Run(const Known& known,
                                              absl::Span<const HostTensor> inputs) const;

 private:
  struct Part {
    std::shared_ptr<const HostFunction> function;
    HostPart form;  // without its program
  };

  HostProgram() = default;
  absl::Status AddPart(HostPart form);
  void Estimate();
  absl::StatusOr<std::vector<HostTensor>> Arrange(absl::Span<const HostTensor> given,
                                                  bool constants) const;
  absl::Status RunLoop(const Part& part, std::vector<HostTensor>* values) const;

  std::vector<HostInput> inputs_;
  std::vector<Part> parts_;
  std::vector<int> outputs_;
  std::vector<TensorShape> shapes_;  // by value
  double milliseconds_ = 0;
  int kernels_ = 0;
};

}  // namespace tartan::evaluator
