// SPDX-License-Identifier: Apache-2.0
// A body of lazy tensors that runs repeatedly: loops and recurrent networks.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/api/repeat_body.h"
#include "frontend/api/resolver.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

// Maximum number of iterations of a body. A model that needs more is considered endless.
inline constexpr int64_t kMaxIterations = 10'000'000;
absl::Status TooManyIterations(int64_t iterations);  // ResourceExhausted

// Operands: the initial states, the tensors whose rows are slices, the invariants. Results: the
// final states, the stacked rows.
class RepeatCall final : public Call {
 public:
  explicit RepeatCall(RepeatBody body) : body_(std::move(body)) {}
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> operands,
                                              CallRunner& runner) const override;
  const RepeatBody* repeated() const override { return &body_; }

 private:
  const RepeatBody body_;
};

// Runs bodies on the host with the naive evaluator. Returns ResourceExhausted after
// `max_iterations` iterations or `max_points` index points in all.
class NaiveRunner final : public CallRunner {
 public:
  explicit NaiveRunner(int64_t max_iterations = kMaxIterations,
                       int64_t max_points = int64_t{1} << 36)
      : iterations_(max_iterations), points_(max_points) {}
  absl::StatusOr<std::vector<HostTensor>> Repeat(const RepeatBody& body,
                                                 absl::Span<const HostTensor> operands) override;

  // The rest of the budget.
  int64_t iterations() const { return iterations_; }
  int64_t points() const { return points_; }

 private:
  int64_t iterations_;
  int64_t points_;
};

}  // namespace tartan::api
