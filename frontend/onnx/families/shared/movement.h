// SPDX-License-Identifier: Apache-2.0
// Operations that only move elements: reshape, transpose, broadcast, slice, concatenation, take.
// Each is one Tile function, which the compiler fuses into its consumers.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

// The elements of a tensor of `dims`.
int64_t Product(absl::Span<const int64_t> dims);

// `x` converted to `type` as by Tile's casts; `x` itself if it has that type.
absl::StatusOr<Tensor> ConvertTo(const NodeContext& context, const Tensor& x, DataType type);

// The same elements in row-major order. Requires `dims` with the same number of elements.
absl::StatusOr<Tensor> Reshape(const NodeContext& context, const Tensor& x,
                               const std::vector<int64_t>& dims);

// Dimension d of the result is dimension perm[d] of `x`.
absl::StatusOr<Tensor> Transpose(const NodeContext& context, const Tensor& x,
                                 absl::Span<const int64_t> perm);

// NumPy broadcasting to `dims`. Requires sizes of `x` that broadcast to it.
absl::StatusOr<Tensor> BroadcastTo(const NodeContext& context, const Tensor& x,
                                   const std::vector<int64_t>& dims);

// A tensor of `dims` filled with the element of `scalar` (rank 0).
absl::StatusOr<Tensor> Fill(const NodeContext& context, const Tensor& scalar,
                            const std::vector<int64_t>& dims);

// InvalidArgument if such a tensor cannot exist.
absl::StatusOr<Tensor> Zeros(const NodeContext& context, DataType type,
                             const std::vector<int64_t>& dims);

// A strided slice: element i of the result along dimension d is element start[d] + i * step[d] of
// `x`. Requires that this element exists for all i below sizes[d].
struct Window {
  std::vector<int64_t> start;
  std::vector<int64_t> step;
  std::vector<int64_t> sizes;
};
// The slice of all of `x`: starts 0, steps 1.
Window WholeOf(const Tensor& x);
absl::StatusOr<Tensor> SliceOf(const NodeContext& context, const Tensor& x, const Window& window);

// Concatenation along `axis`, which is in [0, rank). Requires equal sizes in the other dimensions.
absl::StatusOr<Tensor> ConcatOf(const NodeContext& context, absl::Span<const Tensor> parts,
                                int64_t axis);

// For a decoder with a preallocated cache (decoding_mode.h): the cache that is part `index` of `x`
// along `axis`; undefined if `x` is not a stack of caches.
Tensor PartOfCaches(const NodeContext& context, const Tensor& x, int64_t axis, int64_t index);

// The slices of `x` along `axis` at `indices`, as in numpy.take.
absl::StatusOr<Tensor> TakeOf(const NodeContext& context, const Tensor& x, const Tensor& indices,
                              int64_t axis);

// The valid range of indices along `axis` of `x`: -size … size - 1.
api::Bounds IndexBounds(const Tensor& x, int64_t axis);
// The valid range 0 … size - 1, for operators without negative indices.
api::Bounds PlainBounds(const Tensor& x, int64_t axis);

}  // namespace tartan::onnx
