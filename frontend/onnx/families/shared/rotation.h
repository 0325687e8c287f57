// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding: pairs of elements rotated by angles that depend on the position.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "frontend/onnx/import/node_context.h"

namespace tartan::onnx {

struct Rotation {
  int64_t size = 0;             // number of leading elements of a head that are rotated; 0: all
  bool is_interleaved = false;  // pairs are adjacent elements; otherwise size / 2 apart
  // Tables of [positions, size / 2] if `positions` selects their rows, else [batch, positions, size
  // / 2].
  Tensor cosines;
  Tensor sines;
  Tensor positions;  // integers [batch, positions], or undefined
};

// `x` is [batch, heads, positions, size]. InvalidArgument if the sizes do not fit.
absl::StatusOr<Tensor> Rotate(const NodeContext& context, const Tensor& x,
                              const Rotation& rotation);

}  // namespace tartan::onnx
