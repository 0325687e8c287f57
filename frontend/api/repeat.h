// SPDX-License-Identifier: Apache-2.0
// A body of lazy tensors to be run many times, as loops and recurrent networks have it.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/api/resolver.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

// Whoever runs a body gives up after so many iterations: a model that asks for more has no end.
inline constexpr int64_t kMaxIterations = 10'000'000;
absl::Status TooManyIterations(int64_t iterations);  // ResourceExhausted

// All of the first group are placeholders; what the body computes depends on nothing else.
struct RepeatBody {
  Tensor iteration;  // int64, a scalar: counts from 0; undefined where it is not read
  std::vector<Tensor> states;
  std::vector<Tensor> slices;  // the iteration's row of an operand, along its first dimension
  std::vector<Tensor> invariants;

  Tensor condition;                 // bool, a scalar; undefined: for all iterations
  std::vector<Tensor> next_states;  // of the states' shapes
  std::vector<Tensor> rows;         // stacked along a new first dimension

  // At most; beyond kMaxIterations it is an error if the condition has not ended them before.
  int64_t iterations = 0;
};

// Operands: the states before the first iteration, the tensors whose rows are slices, the
// invariants. Results: the states after the last iteration, the stacked rows.
class RepeatCall final : public Call {
 public:
  explicit RepeatCall(RepeatBody body) : body_(std::move(body)) {}
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> operands,
                                              CallRunner& runner) const override;

 private:
  const RepeatBody body_;
};

// Repeats by the definition of Tile, on the host: ResourceExhausted after so many iterations or
// index points in all.
class NaiveRunner final : public CallRunner {
 public:
  explicit NaiveRunner(int64_t max_iterations = kMaxIterations,
                       int64_t max_points = int64_t{1} << 36)
      : iterations_(max_iterations), points_(max_points) {}
  absl::StatusOr<std::vector<HostTensor>> Repeat(const RepeatBody& body,
                                                 absl::Span<const HostTensor> operands) override;

  // What is left.
  int64_t iterations() const { return iterations_; }
  int64_t points() const { return points_; }

 private:
  int64_t iterations_;
  int64_t points_;
};

}  // namespace tartan::api
