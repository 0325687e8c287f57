// SPDX-License-Identifier: Apache-2.0
// Converts a model's graph to the precision of a training step. Internal to frontend/train.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/model.h"
#include "frontend/api/tensor.h"
#include "frontend/train/graph/parameters.h"
#include "frontend/train/precision/precision.h"

namespace tartan::train {

// The shape of a parameter stored on the device: float64 for float64, otherwise float32.
TensorShape Master(const TensorShape& shape);
absl::StatusOr<api::Tensor> CastTo(const api::Tensor& x, DataType type);

// The copy of a parameter that the graph reads. Embedding tables are not copied; looked-up rows are
// rounded.
absl::StatusOr<api::Tensor> CopyOf(const api::Tensor& master, const Parameter& parameter,
                                   Precision precision);

// The tensors that bindings pass to a graph.
std::vector<api::Tensor> GivenTensors(const std::vector<api::InputBinding>& bindings);

// Rounds everything that the graph computes from `given`, outputs and running statistics together,
// to the precision.
absl::Status RoundGraph(Precision precision, absl::Span<const api::Tensor> given,
                        api::BoundGraph* graph);

}  // namespace tartan::train
