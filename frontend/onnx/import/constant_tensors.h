// SPDX-License-Identifier: Apache-2.0
// Small constant operands that handlers pass to their Tile functions.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "frontend/api/tensor.h"

namespace tartan::onnx {

// ResourceExhausted when a tensor of these sizes has more elements than a small operand should
// have: a few attributes of a model can demand shapes of any size.
absl::Status CheckTable(absl::Span<const int64_t> sizes);

// The values in row-major order, rounded to `type`. Requires one value per element of `dims`.
api::Tensor ConstantOf(DataType type, absl::Span<const double> values, std::vector<int64_t> dims);

// n, n - 1, … 1 in row-major order, int32, for the n elements of `dims`. A maximum over these marks
// finds the first position.
api::Tensor Countdown(std::vector<int64_t> dims);
// 1, 2, … n in row-major order, int32. A maximum over these marks finds the last position.
api::Tensor CountUp(std::vector<int64_t> dims);
// The positions 0, 1, … n - 1.
api::Tensor Positions(DataType type, int64_t n);

// An int64 tensor on the host.
HostTensor HostInts(std::vector<int64_t> dims, const std::vector<int64_t>& values);

}  // namespace tartan::onnx
