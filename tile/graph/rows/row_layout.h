// SPDX-License-Identifier: Apache-2.0
// Memory layout of the rows of a chain.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::graph {

// Order of rows and row elements in memory, over all tensors of a kernel.
enum class Layout : uint8_t {
  kNone,    // no tensor has both rows and elements of a row
  kAlong,   // the elements of a row have the smaller stride
  kAcross,  // the rows have the smaller stride
  kMixed,   // tensors differ
};

// `axes`: the output indices that are row axes.
Layout LayoutOf(const poly::FlatContraction& flat, const std::vector<int>& axes);
// Combines the layouts of two kernels.
Layout Join(Layout a, Layout b);

bool IsRow(const std::vector<int>& axes, int index);

}  // namespace tartan::graph
