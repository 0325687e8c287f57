// SPDX-License-Identifier: Apache-2.0
// Samples the next token from a model's scores.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tartan::generate {

struct SamplingOptions {
  double temperature = 0;  // 0: always the maximum score, ties by index
  int64_t top_k = 0;       // number of candidates with the highest scores; 0: all
  double top_p = 1;  // keeps the smallest set of most probable tokens with this total probability
  uint64_t seed = 0;
};

// A token and its probability.
struct Candidate {
  int64_t token = 0;
  double probability = 0;
};

// Returns the candidate tokens in descending order of probability; the probabilities add up to 1.
// Computes the softmax of scores / temperature over the top_k, then drops improbable tokens beyond
// top_p. InvalidArgument for NaN, plus infinity, and scores that are all minus infinity.
absl::StatusOr<std::vector<Candidate>> Candidates(absl::Span<const float> scores,
                                                  const SamplingOptions& options);

// Deterministic: the same seed and scores give the same tokens on every machine.
class Sampler {
 public:
  explicit Sampler(SamplingOptions options) : options_(options), random_(options.seed) {}

  absl::StatusOr<int64_t> Choose(absl::Span<const float> scores);

 private:
  const SamplingOptions options_;
  std::mt19937_64 random_;
};

}  // namespace tartan::generate
