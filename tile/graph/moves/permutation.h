// SPDX-License-Identifier: Apache-2.0
// Contractions that put a tensor's dimensions in another order, and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

// The input of a contraction that permutes its dimensions, and which dimension of the result each
// of them is.
struct Permutation {
  ir::ValueId input = ir::kNoValue;
  std::vector<int> result_dims;
};
// Nothing for other values.
std::optional<Permutation> PermutationOf(const ir::Program& program, const ir::Value& value);

// The dimensions of several elements.
std::vector<int64_t> WithoutOnes(std::vector<int64_t> dims);

}  // namespace tartan::graph
