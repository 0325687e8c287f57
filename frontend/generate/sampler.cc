// SPDX-License-Identifier: Apache-2.0
#include "frontend/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"

namespace tartan::generate {
namespace {

absl::Status CheckScores(absl::Span<const float> scores) {
  bool is_any = false;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i]) || scores[i] == INFINITY) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the model gives token ", i, " the score ", scores[i],
          ": no token can be chosen (values overflow in the model, or its weights are damaged)"));
    }
    is_any |= scores[i] != -INFINITY;
  }
  if (is_any) return absl::OkStatus();
  return absl::InvalidArgumentError("the model gives no token a finite score");
}

}  // namespace

absl::StatusOr<std::vector<Candidate>> Candidates(absl::Span<const float> scores,
                                                  const SamplingOptions& options) {
  TARTAN_RETURN_IF_ERROR(CheckScores(scores));
  if (options.temperature <= 0) {
    const auto greatest = std::max_element(scores.begin(), scores.end());
    return std::vector<Candidate>{{greatest - scores.begin(), 1}};
  }
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](int64_t a, int64_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  const size_t count =
      options.top_k > 0 ? std::min(order.size(), static_cast<size_t>(options.top_k)) : order.size();
  std::partial_sort(order.begin(), order.begin() + static_cast<int64_t>(count), order.end(),
                    before);
  order.resize(count);
  std::vector<Candidate> candidates;
  double sum = 0;
  for (const int64_t token : order) {
    const double over =
        (static_cast<double>(scores[token]) - scores[order[0]]) / options.temperature;
    candidates.push_back({token, std::exp(over)});
    sum += candidates.back().probability;
  }
  double kept = 0;
  size_t last = 0;
  while (last < candidates.size() && (last == 0 || kept < options.top_p * sum)) {
    kept += candidates[last++].probability;
  }
  candidates.resize(last);
  while (candidates.size() > 1 && candidates.back().probability == 0) candidates.pop_back();
  for (Candidate& candidate : candidates) candidate.probability /= kept;
  return candidates;
}

absl::StatusOr<int64_t> Sampler::Choose(absl::Span<const float> scores) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, Candidates(scores, options_));
  if (options_.temperature <= 0) return candidates[0].token;
  // Uses 53 random bits directly, because standard distributions differ between libraries.
  double left = static_cast<double>(random_() >> 11) * 0x1p-53;
  for (const Candidate& candidate : candidates) {
    left -= candidate.probability;
    if (left < 0) return candidate.token;
  }
  return candidates.back().token;
}

}  // namespace tartan::generate
