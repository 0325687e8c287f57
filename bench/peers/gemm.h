// SPDX-License-Identifier: Apache-2.0
// Describes a matmul problem of any direction in terms of BLAS.
#pragma once

#include <cstdint>

#include "frontend/bench/peer.h"

namespace tartan::bench {

// C[b] = op(A[b]) op(B[b]) with row-major matrices; op is the identity or a transpose.
struct Gemm {
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  bool transpose_a = false;
  bool transpose_b = false;

  int64_t a_stride() const { return m * k; }
  int64_t b_stride() const { return k * n; }
  int64_t c_stride() const { return m * n; }
  // Elements between rows in memory.
  int64_t a_row() const { return transpose_a ? m : k; }
  int64_t b_row() const { return transpose_b ? k : n; }
};

inline Gemm MakeGemm(const MatmulProblem& p, const PeerRequest& request) {
  const float* a = request.inputs[0];
  const float* b = request.inputs[1];
  switch (request.problem->direction) {
    case Direction::kForward:
      return {p.batch, p.m, p.n, p.k, a, b};
    case Direction::kBackwardData:  // seed * B'
      return {p.batch, p.m, p.k, p.n, request.inputs[2], b, false, true};
    case Direction::kBackwardWeights:  // A' * seed
      return {p.batch, p.k, p.n, p.m, a, request.inputs[2], true, false};
  }
  return {};
}

}  // namespace tartan::bench
