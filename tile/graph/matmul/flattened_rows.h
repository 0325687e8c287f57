// SPDX-License-Identifier: Apache-2.0
// Recognizes matmuls of flattened images, as at the end of a convolutional network.
#pragma once

#include <optional>
#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

// A matmul whose K index runs over the flattened elements.
struct FlattenedMatmul {
  int rows = 0;        // input position of the rows; the other input is the matrix
  int summed_dim = 0;  // K dimension of the matrix
};

// Finds images [n, c, y, x …] that are reshaped to [n, c*y*x …] and read only by matmuls with
// constant matrices of limited size. Their elements may be reordered, because the matrices can be
// reordered to match at load.
class FlattenedRows {
 public:
  explicit FlattenedRows(const ir::Program& program);

  // `v`: the reshape.
  bool IsFlattened(ir::ValueId v) const { return is_flattened_[v]; }
  // Returns the matmul if one of the contraction's inputs is a flattened image.
  std::optional<FlattenedMatmul> AsMatmul(const ir::Contraction& contraction) const;

 private:
  std::optional<FlattenedMatmul> Match(const ir::Contraction& contraction, int rows) const;

  const ir::Program& program_;
  const std::vector<bool> is_constant_;
  std::vector<bool> is_flattened_;
};

}  // namespace tartan::graph
