// SPDX-License-Identifier: Apache-2.0
// Recognizes matmuls among contractions.
#pragma once

#include <set>

#include "tile/ir/program.h"

namespace tartan::graph {

// Returns the indices that an access depends on.
std::set<int> IndicesOf(const ir::Access& access);

// Returns true for a sum of two multiplied factors, each with output indices that the other lacks.
// This excludes depthwise convolutions and scaling of rows.
bool IsMatmul(const ir::Contraction& contraction);

// Returns true for a matmul whose factors have one 16-bit type.
bool IsNarrowMatmul(const ir::Program& program, const ir::Value& value);

}  // namespace tartan::graph
