// SPDX-License-Identifier: Apache-2.0
// Finds the maximum elements of a tensor of scores.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tile/base/host_tensor.h"

namespace tartan::cli {

struct TopScore {
  int64_t row = 0;
  int64_t index = 0;  // along the last dimension
  double score = 0;
};

// The top `k` elements of each row (along the last dimension), in descending order, ties by index;
// for `max_rows` rows or fewer. NaN comes last.
std::vector<TopScore> TopScores(const HostTensor& tensor, int64_t k, int64_t max_rows);

// True if every row is a probability distribution: elements in 0..1 that add up to 1.
bool AreProbabilities(const HostTensor& tensor);

}  // namespace tartan::cli
