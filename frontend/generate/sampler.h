// SPDX-License-Identifier: Apache-2.0
// Chooses a token by the scores that a model gives all of them.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tartan::generate {

struct SamplingOptions {
  double temperature = 0;  // 0: always the greatest score, the first among equals
  int64_t top_k = 0;       // only so many of the greatest; 0: all
  double top_p = 1;        // the fewest of the greatest whose probabilities come to so much
  uint64_t seed = 0;
};

// A token and its probability.
struct Candidate {
  int64_t token = 0;
  double probability = 0;
};

// The tokens that may be drawn, the most probable first, whose probabilities come to 1: softmax of
// the scores over the temperature, of the top_k, of which then the least probable go beyond top_p.
// InvalidArgument for scores that are NaN or all minus infinity, and for plus infinity.
absl::StatusOr<std::vector<Candidate>> Candidates(absl::Span<const float> scores,
                                                  const SamplingOptions& options);

// The same seed and scores give the same tokens on every machine.
class Sampler {
 public:
  explicit Sampler(SamplingOptions options) : options_(options), random_(options.seed) {}

  absl::StatusOr<int64_t> Choose(absl::Span<const float> scores);

 private:
  const SamplingOptions options_;
  std::mt19937_64 random_;
};

}  // namespace tartan::generate
