// SPDX-License-Identifier: Apache-2.0
// Computes large contractions on the host as matmuls of blocks (convolutions, matmuls and their
// gradients). Terms and partial sums of up to 256 of them are float32, and further sums float64.
#pragma once

#include <optional>
#include <vector>

#include "tile/evaluator/host/in_parts.h"
#include "tile/evaluator/host/loop_nest.h"

namespace tartan::evaluator {

class BlockedMatmul {
 public:
  // Selects loops for the rows, columns and terms of the blocks. `loops` have the places of the
  // result and of both factors; the first `outputs` loops belong to the result. Nothing if no
  // loops are suitable.
  static std::optional<BlockedMatmul> Create(const Places& start,
                                             const std::vector<HostLoop>& loops, size_t outputs,
                                             const std::vector<HostCondition>& conditions);

  // Adds the sums to `result`. `factors` are the elements of both factors, in the order of places.
  void Add(const double* const factors[2], double* result) const;

  // The estimated time on one core.
  double nanoseconds() const { return nanoseconds_; }

 private:
  BlockedMatmul(LoopNest nest, DivisibleLoop divisible, int row_factor, double nanoseconds)
      : nest_(std::move(nest)),
        divisible_(divisible),
        row_factor_(row_factor),
        nanoseconds_(nanoseconds) {}

  // Adds the sums of a part of the nest.
  void AddPart(const LoopNest& nest, const double* const factors[2], double* result) const;

  LoopNest nest_;            // its three innermost loops are terms, rows and columns
  DivisibleLoop divisible_;  // of the result
  int row_factor_;           // the factor whose elements depend on rows and terms: 0 or 1
  double nanoseconds_;
};

}  // namespace tartan::evaluator
