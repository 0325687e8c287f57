// SPDX-License-Identifier: Apache-2.0
// A body of lazy tensors to be run many times, as loops and recurrent networks have it.
#pragma once

#include <cstdint>
#include <vector>

#include "frontend/api/resolver.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

// Whoever runs a body gives up after so many turns: a model that asks for more has no end.
inline constexpr int64_t kMaxTurns = 10'000'000;
absl::Status TooManyTurns(int64_t turns);  // ResourceExhausted

// All of the first group are placeholders; what the body computes depends on nothing else.
struct RepeatBody {
  Tensor turn;  // int64, a scalar: counts from 0; undefined where it is not read
  std::vector<Tensor> states;
  std::vector<Tensor> slices;  // the turn's row of an operand, along its first dimension
  std::vector<Tensor> invariants;

  Tensor goes_on;                   // bool, a scalar; undefined: for all turns
  std::vector<Tensor> next_states;  // of the states' shapes
  std::vector<Tensor> rows;         // stacked along a new first dimension

  // At most; beyond kMaxTurns it is an error if the condition has not ended them before.
  int64_t turns = 0;
};

// Operands: the states before the first turn, the tensors whose rows are slices, the invariants.
// Results: the states after the last turn, the stacked rows.
class RepeatCall final : public Call {
 public:
  explicit RepeatCall(RepeatBody body) : body_(std::move(body)) {}
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> operands,
                                              CallRunner& runner) const override {
    return runner.Repeat(body_, operands);
  }

 private:
  const RepeatBody body_;
};

// Repeats by the definition of Tile, on the host: ResourceExhausted after so many turns or index
// points in all.
class NaiveRunner final : public CallRunner {
 public:
  explicit NaiveRunner(int64_t max_turns = kMaxTurns, int64_t max_points = int64_t{1} << 36)
      : turns_(max_turns), points_(max_points) {}
  absl::StatusOr<std::vector<HostTensor>> Repeat(const RepeatBody& body,
                                                 absl::Span<const HostTensor> operands) override;

  // What is left.
  int64_t turns() const { return turns_; }
  int64_t points() const { return points_; }

 private:
  int64_t turns_;
  int64_t points_;
};

}  // namespace tartan::api
