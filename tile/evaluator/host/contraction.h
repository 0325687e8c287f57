// SPDX-License-Identifier: Apache-2.0
// Computes a contraction on the host as a loop nest over its index space. It gives the naive
// evaluator's results (tile/ir/naive_evaluator.h) and takes about 1 ns per point. Large sums of
// float32 products are blocked matmuls, which round like kernels and take about 0.1 ns per point.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "tile/evaluator/host/blocked_matmul.h"
#include "tile/evaluator/host/in_parts.h"
#include "tile/evaluator/host/loop_nest.h"
#include "tile/ir/naive_tensor.h"
#include "tile/ir/program.h"
#include "tile/ir/type_rules.h"
#include "tile/poly/analysis/index_space.h"

namespace tartan::evaluator {

class HostContraction {
 public:
  // `space` is the index space of the value `id`. Nothing if index arithmetic could overflow.
  static std::optional<HostContraction> Create(const ir::Program& program, ir::ValueId id,
                                               const poly::IndexSpace& space);

  // `inputs` are the values of the contraction's inputs; `otherwise` is its default value, or null.
  ir::NaiveTensor Evaluate(absl::Span<const ir::NaiveTensor* const> inputs,
                           const ir::NaiveTensor* otherwise) const;

  double nanoseconds() const;  // on one core

 private:
  HostContraction(const ir::Contraction& contraction, TensorShape shape, ir::ContractionTypes types,
                  LoopNest nest, DivisibleLoop divisible, bool needs_hits)
      : aggregation_(contraction.aggregation),
        combination_(contraction.combination),
        shape_(std::move(shape)),
        types_(types),
        nest_(std::move(nest)),
        divisible_(divisible),
        needs_hits_(needs_hits) {}

  template <class T>
  void Combine(absl::Span<const ir::NaiveTensor* const> inputs, std::vector<T>& result) const;
  template <class T, class Body>
  void Aggregate(const Body& body, std::vector<T>& result) const;
  std::vector<uint8_t> Hits() const;

  Aggregation aggregation_;
  Combination combination_;
  TensorShape shape_;
  ir::ContractionTypes types_;
  LoopNest nest_;
  DivisibleLoop divisible_;              // of the result
  std::optional<BlockedMatmul> blocks_;  // computes the sums, if any
  bool needs_hits_;                      // some element of the result may have no point
};

}  // namespace tartan::evaluator
