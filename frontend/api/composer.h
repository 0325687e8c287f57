// SPDX-License-Identifier: Apache-2.0
// Turns lazy tensors into one Tile program.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/checks/checked_tensor.h"
#include "frontend/api/tensor.h"
#include "proto/tile.pb.h"
#include "tile/ir/program.h"

namespace tartan::api {

struct ComposedProgram {
  proto::Program program;
  // Where each program input comes from, in order: a placeholder or a constant.
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

// Inlines every application the outputs need, each once, into one Tile function; names of sizes
// become numbers, names of tensors are made unique. Placeholders in `placeholders` come first, in
// that order, whether used or not. Scalar constants (rank 0) become literals of their type.
absl::StatusOr<ComposedProgram> Compose(absl::Span<const Tensor> placeholders,
                                        absl::Span<const Tensor> outputs,
                                        absl::string_view name = "program");

// What lazy tensors are by the definition of Tile: a program for the naive evaluator on the host,
// slow.
class Definition {
 public:
  // FailedPrecondition where `outputs` depend on a placeholder that is none of `placeholders`.
  static absl::StatusOr<Definition> Make(absl::Span<const Tensor> placeholders,
                                         absl::Span<const Tensor> outputs);
  // The values of the outputs; `values` are those of the placeholders. Visits at most `*points`
  // index points and takes them off it; ResourceExhausted, and 0 there, where they do not suffice.
  // OutOfRange where a check (checks/check.h) of what the outputs need fails.
  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const HostTensor> values,
                                                   int64_t* points) const;
  // From now on outputs of 16-bit floats are given as the float32 values that they are rounded
  // from.
  void WidenOutputs();

 private:
  ir::Program program_;
  size_t placeholders_ = 0;
  std::vector<HostTensor> constants_;  // the inputs after the placeholders
  std::vector<CheckedTensor> checks_;  // their values are the outputs after those wanted
};

// The same at once.
absl::StatusOr<std::vector<HostTensor>> EvaluateByDefinition(absl::Span<const Tensor> placeholders,
                                                             absl::Span<const HostTensor> values,
                                                             absl::Span<const Tensor> outputs,
                                                             int64_t max_points);

// The value of a tensor that depends on no placeholder, computed on the host by the naive
// evaluator: for size arithmetic. FailedPrecondition naming the placeholder it depends on;
// ResourceExhausted when it is no small computation: more than `*points` index points, as above.
// `is_exact`, where given, tells whether the value may stand for the tensor in what is computed
// from it: 16-bit floats are float32 until they are outputs, so a rounded one may not.
absl::StatusOr<HostTensor> EvaluateOnHost(const Tensor& tensor, int64_t* points,
                                          bool* is_exact = nullptr);
absl::StatusOr<HostTensor> EvaluateOnHost(const Tensor& tensor);

// Every placeholder the tensor depends on.
std::vector<Tensor> PlaceholdersOf(const Tensor& tensor);

}  // namespace tartan::api
