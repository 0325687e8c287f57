// SPDX-License-Identifier: Apache-2.0
// Products of rows into which images were flattened, as at the end of a network of convolutions.
#pragma once

#include <optional>
#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

// A product whose sum runs over the flattened elements.
struct FlattenedProduct {
  int rows = 0;        // position of the rows among its inputs; the other one is the matrix
  int summed_dim = 0;  // of the matrix, which has a row or column for each element
};

// Of values [n, c, y, x …] that are reshaped to [n, c*y*x …] and read by products with constant
// matrices, not too large to be copied, alone: whether elements lie in another order is the
// matrices' affair, which are put into that order at load.
class FlattenedRows {
 public:
  explicit FlattenedRows(const ir::Program& program);

  // `v` is the reshape.
  bool IsFlattened(ir::ValueId v) const { return is_flattened_[v]; }
  // Where one of the contraction's inputs is such a value.
  std::optional<FlattenedProduct> AsProduct(const ir::Contraction& contraction) const;

 private:
  std::optional<FlattenedProduct> Match(const ir::Contraction& contraction, int rows) const;

  const ir::Program& program_;
  const std::vector<bool> is_constant_;
  std::vector<bool> is_flattened_;
};

}  // namespace tartan::graph
