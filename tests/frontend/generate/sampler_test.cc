// SPDX-License-Identifier: Apache-2.0
// Compares the probabilities that remain after filtering with NumPy's, and the frequencies of draws
// with those probabilities.
#include "frontend/generate/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace tartan::generate::sampler_test {
namespace {

using testing::HasSubstr;

const std::vector<float>& Scores() {
  static const auto* const scores =
      new std::vector<float>{2.0f, -1.0f, 0.5f, 3.0f, 3.0f, -INFINITY, 1.25f, 0.0f};
  return *scores;
}

struct Case {
  double temperature;
  int64_t top_k;
  double top_p;
  std::vector<std::pair<int64_t, double>> wanted;
};

TEST(Sampler, LeavesTheProbabilitiesOfNumPy) {
  // z = exp(s / t - max). The top_k largest z remain; of these, the first whose cumsum(z / sum) <
  // top_p, and one more.
  const std::vector<Case> cases = {
      {1,
       0,
       1,
       {{3, 0.371492954591},
        {4, 0.371492954591},
        {0, 0.136664620534},
        {6, 0.064555795683},
        {2, 0.030493998666},
        {7, 0.018495545128},
        {1, 0.006804130806}}},
      {0.7,
       0,
       1,
       {{3, 0.422491060243},
        {4, 0.422491060243},
        {0, 0.101250420475},
        {6, 0.034680178099},
        {2, 0.011878614897},
        {7, 0.00581507685},
        {1, 0.001393589194}}},
      {1, 3, 1, {{3, 0.422318798252}, {4, 0.422318798252}, {0, 0.155362403497}}},
      {1, 0, 0.8, {{3, 0.422318798252}, {4, 0.422318798252}, {0, 0.155362403497}}},
      {2, 5, 0.6, {{3, 0.5}, {4, 0.5}}},
      {1, 0, 1e-9, {{3, 1}}},
      {0, 0, 1, {{3, 1}}}};
  for (const Case& one : cases) {
    const auto made = Candidates(Scores(), {one.temperature, one.top_k, one.top_p, 0});
    ASSERT_TRUE(made.ok()) << made.status();
    ASSERT_EQ(made->size(), one.wanted.size()) << one.temperature << " " << one.top_p;
    for (size_t i = 0; i < made->size(); ++i) {
      EXPECT_EQ((*made)[i].token, one.wanted[i].first);
      EXPECT_NEAR((*made)[i].probability, one.wanted[i].second, 1e-11);
    }
  }
}

TEST(Sampler, DrawsAsOftenAsIsProbable) {
  const SamplingOptions options = {1, 0, 0.97, 42};
  const auto candidates = Candidates(Scores(), options);
  ASSERT_TRUE(candidates.ok());
  Sampler sampler(options);
  constexpr int kDraws = 20000;
  std::map<int64_t, int> drawn;
  for (int i = 0; i < kDraws; ++i) ++drawn[*sampler.Choose(Scores())];
  double chi_square = 0;
  int counted = 0;
  for (const Candidate& candidate : *candidates) {
    const double wanted = candidate.probability * kDraws;
    chi_square += std::pow(drawn[candidate.token] - wanted, 2) / wanted;
    counted += drawn[candidate.token];
  }
  EXPECT_EQ(counted, kDraws);  // no other token
  EXPECT_EQ(candidates->size(), 5u);
  // chi-square with 4 degrees of freedom; one seed in a thousand exceeds it
  EXPECT_LT(chi_square, 18.5);
}

TEST(Sampler, TheSameSeedGivesTheSameTokens) {
  const auto draw = [](uint64_t seed) {
    Sampler sampler({1, 0, 1, seed});
    std::vector<int64_t> tokens;
    for (int i = 0; i < 20; ++i) tokens.push_back(*sampler.Choose(Scores()));
    return tokens;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Sampler, RefusesScoresThatAreNoNumbers) {
  for (const double temperature : {0.0, 1.0}) {
    Sampler sampler({temperature, 0, 1, 0});
    const std::vector<float> with_nan = {1, NAN, 2};
    EXPECT_THAT(sampler.Choose(with_nan).status().message(), HasSubstr("token 1 the score nan"));
    const std::vector<float> with_infinity = {1, INFINITY};
    EXPECT_THAT(sampler.Choose(with_infinity).status().message(), HasSubstr("score inf"));
    const std::vector<float> none = {-INFINITY, -INFINITY};
    EXPECT_THAT(sampler.Choose(none).status().message(), HasSubstr("no token"));
  }
}

}  // namespace
}  // namespace tartan::generate::sampler_test
