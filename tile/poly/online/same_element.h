// SPDX-License-Identifier: Apache-2.0
// Compares expressions of two kernels of a chain, per element of a row.
#pragma once

#include "tile/poly/row_block.h"

namespace tartan::poly {

// A kernel of a chain and its index along the keys.
struct KeyLoopKernel {
  const RowKernel& kernel;
  int key_index = -1;
};

// Returns true if both expressions read the same elements for each row and key, and compute the
// same from them. Conservative: may return false for equal expressions.
bool AreSameElement(const ExprPtr& expr, const KeyLoopKernel& of, const ExprPtr& other,
                    const KeyLoopKernel& of_other);

}  // namespace tartan::poly
