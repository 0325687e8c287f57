// SPDX-License-Identifier: Apache-2.0
// Sums of products of rows by columns among contractions.
#pragma once

#include <set>

#include "tile/ir/program.h"

namespace tartan::graph {

// The indices that an access reads or writes by.
std::set<int> IndicesOf(const ir::Access& access);

// A sum of products of two factors, each of which has output indices that the other one has not:
// no depthwise convolution, no scaling of rows.
bool IsProduct(const ir::Contraction& contraction);

}  // namespace tartan::graph
