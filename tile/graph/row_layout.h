// SPDX-License-Identifier: Apache-2.0
// How the rows of a chain of kernels lie in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "tile/poly/flat_contraction.h"

namespace tartan::graph {

// How what a kernel reads and writes lies in memory.
enum class Layout : uint8_t {
  kNone,    // nothing has both rows and elements of a row
  kAlong,   // elements of a row are neighbours, or nearer to each other than rows
  kAcross,  // rows are
  kMixed,
};

// `axes`: the output indices that are row axes.
Layout LayoutOf(const poly::FlatContraction& flat, const std::vector<int>& axes);
// Of two kernels together.
Layout Join(Layout a, Layout b);

bool IsRow(const std::vector<int>& axes, int index);

}  // namespace tartan::graph
