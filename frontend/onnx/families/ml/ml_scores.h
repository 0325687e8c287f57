// SPDX-License-Identifier: Apache-2.0
// Scores of the classifiers and regressors of ai.onnx.ml: their final transformation, and the
// labels of classes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

// Applies the attribute 'post_transform' to scores [N, K], in float32: NONE, LOGISTIC, SOFTMAX,
// SOFTMAX_ZERO (zeros stay 0) or PROBIT (with Winitzki's approximation of the inverse error
// function).
absl::StatusOr<Tensor> PostTransformed(const NodeContext& context, const Tensor& scores,
                                       absl::string_view transform);

// Labels of classes from one of two attributes, [K]; an empty int64 vector if both are absent.
absl::StatusOr<api::HostValue> ReadLabels(const NodeContext& context, absl::string_view integers,
                                          absl::string_view strings);

// The labels at `positions`, integers of any shape.
absl::StatusOr<Value> LabelsAt(const NodeContext& context, const api::HostValue& labels,
                               const Tensor& positions);

// The position of each row's maximum score, the first one among equals: [N, K] to int32 [N].
absl::StatusOr<Tensor> ArgMaxOfRows(const NodeContext& context, const Tensor& scores);

// Converts plain numbers to float32; float64 stays float64.
absl::StatusOr<Tensor> AsReal(const NodeContext& context, const Tensor& x);

// Operand 0 as rows [N, F] of floats; a vector is one row. InvalidArgument for other ranks.
absl::StatusOr<Tensor> RowsOf(const NodeContext& context);

// An attribute of floats; empty if absent.
absl::StatusOr<std::vector<double>> Reals(const NodeContext& context, absl::string_view name);

}  // namespace tartan::onnx
