// SPDX-License-Identifier: Apache-2.0
// Composes lazy tensors into one Tile program.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/checked_tensor.h"
#include "frontend/api/composition.h"
#include "frontend/api/tensor.h"
#include "proto/tile.pb.h"
#include "tile/ir/program.h"
#include "tile/lang/ast.h"

namespace tartan::api {

// Inlines every application that the outputs need, each once, into one Tile function. Size names
// become numbers; tensor names are made unique. `placeholders` become the first inputs, in that
// order, whether used or not. Scalar constants (rank 0) become constants of their type in the text.
absl::StatusOr<ComposedProgram> Compose(absl::Span<const Tensor> placeholders,
                                        absl::Span<const Tensor> outputs,
                                        absl::string_view name = "program");

// Reference semantics of lazy tensors: a program for the naive evaluator on the host. Slow.
class ReferenceProgram {
 public:
  // FailedPrecondition if `outputs` depend on a placeholder that is not in `placeholders`.
  static absl::StatusOr<ReferenceProgram> Make(absl::Span<const Tensor> placeholders,
                                               absl::Span<const Tensor> outputs);
  // Evaluates the outputs; `values` has one value per placeholder. The evaluation visits at most
  // `*points` index points and subtracts them from it. Returns ResourceExhausted, with `*points` =
  // 0, if the budget is too small. Returns OutOfRange if a check (check.h) that the outputs
  // need fails.
  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const HostTensor> values,
                                                   int64_t* points) const;
  // Makes later evaluations return 16-bit float outputs as the float32 values before rounding.
  void ReturnFloat32Outputs();

 private:
  ir::Program program_;
  size_t placeholders_ = 0;
  std::vector<HostTensor> constants_;  // the inputs after the placeholders
  std::vector<CheckedTensor> checks_;  // their values are the last outputs of `program_`
};

// Makes a Definition and evaluates it once.
absl::StatusOr<std::vector<HostTensor>> EvaluateReference(absl::Span<const Tensor> placeholders,
                                                          absl::Span<const HostTensor> values,
                                                          absl::Span<const Tensor> outputs,
                                                          int64_t max_points);

// Evaluates a tensor that depends on no placeholder with the naive evaluator on the host, for size
// arithmetic. Returns FailedPrecondition naming the placeholder if there is one. Returns
// ResourceExhausted if the computation visits more than `*points` index points.
//
// Sets `*is_exact`, if given, to whether the value may replace the tensor in later computations. A
// rounded value may not: 16-bit floats are computed in float32 and rounded only as outputs.
absl::StatusOr<HostTensor> EvaluateOnHost(const Tensor& tensor, int64_t* points,
                                          bool* is_exact = nullptr);
absl::StatusOr<HostTensor> EvaluateOnHost(const Tensor& tensor);

// All placeholders that the tensors depend on, each once.
std::vector<Tensor> PlaceholdersOf(absl::Span<const Tensor> tensors);
std::vector<Tensor> PlaceholdersOf(const Tensor& tensor);

}  // namespace tartan::api
