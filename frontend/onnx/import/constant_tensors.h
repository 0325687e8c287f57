// SPDX-License-Identifier: Apache-2.0
// Small constant operands that handlers give to their Tile functions.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "frontend/api/tensor.h"

namespace tartan::onnx {

// ResourceExhausted where the product of `sizes` is more than such an operand should have: a few
// numbers of a model can make shapes as large as they like.
absl::Status CheckTable(absl::Span<const int64_t> sizes);

// The values in row-major order, rounded to `type`; their number is the product of `dims`.
api::Tensor ConstantOf(DataType type, absl::Span<const double> values, std::vector<int64_t> dims);

// n, n - 1, … 1 in row-major order, int32: marks positions so that the first one has the greatest
// mark. n is the product of `dims`.
api::Tensor Countdown(std::vector<int64_t> dims);
// 1, 2, … n: the last one has the greatest mark.
api::Tensor CountUp(std::vector<int64_t> dims);
// 0, 1, … n - 1.
api::Tensor Positions(DataType type, int64_t n);

// An int64 tensor on the host.
HostTensor HostInts(std::vector<int64_t> dims, const std::vector<int64_t>& values);

}  // namespace tartan::onnx
