// SPDX-License-Identifier: Apache-2.0
// Whether two kernels of a chain compute the same from each element of a row.
#pragma once

#include "tile/poly/row_block.h"

namespace tartan::poly {

// A kernel of a chain, and which of its indices walks the row.
struct WalkingKernel {
  const RowKernel& kernel;
  int key_index = -1;
};

// The expressions read the same elements for each row and element of it, and compute the same of
// them; false also where that is not easy to see.
bool AreSameElement(const ExprPtr& expr, const WalkingKernel& of, const ExprPtr& other,
                    const WalkingKernel& of_other);

}  // namespace tartan::poly
