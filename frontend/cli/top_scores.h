// SPDX-License-Identifier: Apache-2.0
// The greatest elements of a tensor of scores.
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

// The `k` greatest of each row (a run of the last dimension), greatest first, equals by index; of
// at most `max_rows` rows. NaN comes last.
std::vector<TopScore> TopScores(const HostTensor& tensor, int64_t k, int64_t max_rows);

// Whether every row is a distribution: elements in 0..1 that add up to 1.
bool AreProbabilities(const HostTensor& tensor);

}  // namespace tartan::cli
