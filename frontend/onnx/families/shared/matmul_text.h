// SPDX-License-Identifier: Apache-2.0
// Tile text of matmuls under NumPy's rules for ranks and broadcasting.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tartan::onnx {

struct MatMulText {
  std::string statement;
  std::vector<int64_t> dims;  // of the result
};

// "C[b0, i, j : 2, 3, 5] = +(A[b0, i, k] * B[k, j])". A vector is a row on the left and a column on
// the right, and its dimension is dropped from the result. Leading dimensions broadcast. A
// transposed operand has its last two dimensions exchanged. InvalidArgument if the sizes do not
// fit.
absl::StatusOr<MatMulText> MatMulStatement(absl::string_view target, absl::string_view a,
                                           absl::Span<const int64_t> a_dims, absl::string_view b,
                                           absl::Span<const int64_t> b_dims,
                                           bool transpose_a = false, bool transpose_b = false);

}  // namespace tartan::onnx
