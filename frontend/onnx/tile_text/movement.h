// SPDX-License-Identifier: Apache-2.0
// Tensors from tensors by moving elements only: what several families need. Each is one Tile
// function; the compiler folds it into whatever reads the result.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

// The same elements in row-major order; the product of `dims` must equal the element count.
absl::StatusOr<api::Tensor> Reshape(const NodeContext& context, const api::Tensor& x,
                                    const std::vector<int64_t>& dims);

// Dimension d of the result is dimension perm[d] of `x`.
absl::StatusOr<api::Tensor> Transpose(const NodeContext& context, const api::Tensor& x,
                                      absl::Span<const int64_t> perm);

// NumPy broadcasting to `dims`, to which the sizes of `x` must broadcast.
absl::StatusOr<api::Tensor> BroadcastTo(const NodeContext& context, const api::Tensor& x,
                                        const std::vector<int64_t>& dims);

// A tensor of `dims` full of the one element of `scalar` (rank 0).
absl::StatusOr<api::Tensor> Fill(const NodeContext& context, const api::Tensor& scalar,
                                 const std::vector<int64_t>& dims);

// Element i of the result along dimension d is element start[d] + i * step[d] of `x`, which must
// exist for all i below sizes[d].
struct Window {
  std::vector<int64_t> start;
  std::vector<int64_t> step;
  std::vector<int64_t> sizes;
};
// The whole of `x`: starts 0, steps 1.
Window WholeOf(const api::Tensor& x);
absl::StatusOr<api::Tensor> SliceOf(const NodeContext& context, const api::Tensor& x,
                                    const Window& window);

// Joined along `axis` (normal); other sizes are equal.
absl::StatusOr<api::Tensor> ConcatOf(const NodeContext& context,
                                     absl::Span<const api::Tensor> parts, int64_t axis);

// Of a decoder whose cache has room: the cache that is part `index` of `x` along `axis`; undefined
// where it is none.
api::Tensor PartOfCaches(const NodeContext& context, const api::Tensor& x, int64_t axis,
                         int64_t index);

// The slices of `x` along `axis` that `indices` name, as numpy.take.
absl::StatusOr<api::Tensor> TakeOf(const NodeContext& context, const api::Tensor& x,
                                   const api::Tensor& indices, int64_t axis);

// What indices along `axis` of `x` are held to: -size … size - 1.
api::Bounds IndexBounds(const api::Tensor& x, int64_t axis);
// The same where negative numbers do not count from the end.
api::Bounds PlainBounds(const api::Tensor& x, int64_t axis);

}  // namespace tartan::onnx
