// SPDX-License-Identifier: Apache-2.0
// Recognizes contractions that only permute the dimensions of a tensor (transposes).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

// The input of a permutation, and the result dimension of each input dimension.
struct Permutation {
  ir::ValueId input = ir::kNoValue;
  std::vector<int> result_dims;
};
// Returns nothing for other values.
std::optional<Permutation> PermutationOf(const ir::Program& program, const ir::Value& value);

// Returns the dimensions larger than 1.
std::vector<int64_t> WithoutOnes(std::vector<int64_t> dims);

}  // namespace tartan::graph
