// SPDX-License-Identifier: Apache-2.0
// Scores of the classifiers and regressors of ai.onnx.ml: their last transformation, and the labels
// of classes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

// Scores [N, K] under the attribute 'post_transform': NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO (zeros
// stay 0) or PROBIT (by Winitzki's approximation of the inverse error function). In float32.
absl::StatusOr<api::Tensor> PostTransformed(const NodeContext& context, const api::Tensor& scores,
                                            absl::string_view transform);

// Labels of classes from one of two attributes, [K]; an empty int64 vector where neither is there.
absl::StatusOr<api::HostValue> ReadLabels(const NodeContext& context, absl::string_view integers,
                                          absl::string_view strings);

// The labels at `positions`, integers of any shape.
absl::StatusOr<api::Value> LabelsAt(const NodeContext& context, const api::HostValue& labels,
                                    const api::Tensor& positions);

// The position of each row's greatest score, the first of several: [N, K] to int32 [N].
absl::StatusOr<api::Tensor> GreatestOf(const NodeContext& context, const api::Tensor& scores);

// Plain numbers as float32, or as they are if they are float64.
absl::StatusOr<api::Tensor> AsReal(const NodeContext& context, const api::Tensor& x);

// Operand 0 as rows [N, F] of floats; a vector is one row. InvalidArgument for other ranks.
absl::StatusOr<api::Tensor> RowsOf(const NodeContext& context);

// An attribute of floats; empty where it is not there.
absl::StatusOr<std::vector<double>> Reals(const NodeContext& context, absl::string_view name);

// A float vector as a constant of a float type under the sizes `dims`.
api::Tensor ConstantReals(DataType type, std::vector<int64_t> dims,
                          const std::vector<double>& values);

}  // namespace tartan::onnx
