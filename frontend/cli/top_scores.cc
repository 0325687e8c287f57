// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/top_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tartan::cli {
namespace {

int64_t RowLength(const HostTensor& tensor) {
  return tensor.shape().dims.empty() ? 1 : tensor.shape().dims.back();
}

}  // namespace

std::vector<TopScore> TopScores(const HostTensor& tensor, int64_t k, int64_t max_rows) {
  std::vector<TopScore> top;
  if (tensor.element_count() == 0) return top;
  const int64_t length = RowLength(tensor);
  const int64_t rows = std::min(tensor.element_count() / length, max_rows);
  k = std::min(k, length);
  std::vector<double> values(length);
  std::vector<int64_t> order(length);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < length; ++i) values[i] = tensor.GetDouble(row * length + i);
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
      const bool a_is_nan = std::isnan(values[a]);
      const bool b_is_nan = std::isnan(values[b]);
      if (a_is_nan != b_is_nan) return b_is_nan;
      if (!a_is_nan && values[a] != values[b]) return values[a] > values[b];
      return a < b;
    });
    for (int64_t i = 0; i < k; ++i) top.push_back({row, order[i], values[order[i]]});
  }
  return top;
}

bool AreProbabilities(const HostTensor& tensor) {
  if (!IsFloat(tensor.type()) || tensor.element_count() == 0) return false;
  const int64_t length = RowLength(tensor);
  for (int64_t start = 0; start < tensor.element_count(); start += length) {
    double sum = 0;
    for (int64_t i = start; i < start + length; ++i) {
      const double value = tensor.GetDouble(i);
      if (!(value >= 0 && value <= 1)) return false;
      sum += value;
    }
    if (std::abs(sum - 1) > 1e-2) return false;
  }
  return true;
}

}  // namespace tartan::cli
