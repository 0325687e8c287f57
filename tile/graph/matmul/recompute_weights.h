// SPDX-License-Identifier: Apache-2.0
// Attention in training: recomputes the weights for the backward pass instead of keeping them.
#pragma once

#include "tile/ir/program.h"

namespace tartan::graph {

// Finds softmax over a matmul of two run-time tensors, whose weights a second matmul reads. Values
// that depend on this second matmul, such as gradients, then read a copy of the weights. The copy
// computes the scores again, and the weights from the same row maxima and sums. Results are equal
// bit for bit where both matmuls of the scores have the same plan.
//
// Only row maxima and sums live between the forward and the backward pass. Weights of fewer than
// `min_bytes` bytes stay as they are. With `only_narrow`, so do weights whose scores are matmuls of
// factors that have no common 16-bit type.
ir::Program RecomputeWeights(const ir::Program& program, int64_t min_bytes,
                             bool only_narrow = false);

}  // namespace tartan::graph
