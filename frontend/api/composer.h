// Turns lazy tensors into one Tile program.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"
#include "proto/tile.pb.h"

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

// The values of `outputs` by the definition of Tile: the naive evaluator on the host, slow.
// `values` are those of `placeholders`, which are all that the outputs depend on. ResourceExhausted
// when a contraction has more than `max_points` index points.
absl::StatusOr<std::vector<HostTensor>> EvaluateByDefinition(absl::Span<const Tensor> placeholders,
                                                             absl::Span<const HostTensor> values,
                                                             absl::Span<const Tensor> outputs,
                                                             int64_t max_points);

// The value of a tensor that depends on no placeholder, computed on the host by the naive
// evaluator: for size arithmetic. FailedPrecondition naming the placeholder it depends on;
// ResourceExhausted when it is no small computation.
absl::StatusOr<HostTensor> EvaluateOnHost(const Tensor& tensor);

// Every placeholder the tensor depends on.
std::vector<Tensor> PlaceholdersOf(const Tensor& tensor);

}  // namespace tartan::api
