// SPDX-License-Identifier: Apache-2.0
// Tile text of normalization by statistics of the operand X, and of its gradient. `dims` are the
// sizes of X.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tartan::onnx {

// The rule of a custom gradient with the inputs `inputs`, Y and DY.
std::string GradientRule(absl::string_view inputs, absl::string_view outputs,
                         const std::vector<std::string>& statements);

// Sums over the axes for the gradient of values that are standardized by their own statistics.
// Kernels compute the deviations anew instead of storing them.
std::vector<std::string> GradientSums(absl::Span<const int64_t> dims,
                                      absl::Span<const int64_t> axes, absl::string_view centered);

// --- Batch normalization: statistics per channel, which is dimension 1.

// Defines MEAN, VAR, INV and NORM, as StandardizeStatements.
std::vector<std::string> BatchStatistics(absl::Span<const int64_t> dims, double epsilon);
// The gradient of Y = NORM * A + B. Inputs: X, A, B, MEAN, INV.
std::string BatchNormalizationRule(absl::Span<const int64_t> dims);

// The same by the examples of several ranks (TrainingMode::joint_ranks). Also defines OWN[3, C],
// the statistics of this rank, and COUNT. ALL[ranks, 3, C] has OWN of all ranks; it is read after
// OWN is computed.
std::vector<std::string> JointBatchStatistics(absl::Span<const int64_t> dims, double epsilon,
                                              int64_t ranks);
// Inputs: X, A, B, OWNSUMS[2, C], SUMS[ranks, 2, C], MEAN, INV, COUNT. The gradient of OWNSUMS is
// the value of this rank, and SUMS has the values of all ranks. It is read after the gradient
// is computed.
std::string JointBatchNormalizationRule(absl::Span<const int64_t> dims);

}  // namespace tartan::onnx
