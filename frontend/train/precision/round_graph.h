// SPDX-License-Identifier: Apache-2.0
// A model's graph as a step computes it in 16 bits. Internal to frontend/train.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/model.h"
#include "frontend/api/tensor.h"
#include "frontend/train/parameters.h"
#include "frontend/train/precision/precision.h"

namespace tartan::train {

// Of a parameter as it lies on the device: float32, float64 of float64.
TensorShape Master(const TensorShape& shape);
absl::StatusOr<api::Tensor> CastTo(const api::Tensor& x, DataType type);

// What the graph reads of a parameter. Rows of tables are rounded once they are looked up.
absl::StatusOr<api::Tensor> CopyOf(const api::Tensor& master, const Parameter& parameter,
                                   Precision precision);

// What bindings give to a graph.
std::vector<api::Tensor> GivenTensors(const std::vector<api::InputBinding>& bindings);

// All that the graph computes of `given`, outputs and running statistics together, as the precision
// has it.
absl::Status RoundGraph(Precision precision, absl::Span<const api::Tensor> given,
                        api::BoundGraph* graph);

}  // namespace tartan::train
