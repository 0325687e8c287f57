// SPDX-License-Identifier: Apache-2.0
// Checks of integers known only at run time: indices, lengths, labels. Tile's gathers clamp and its
// scatters skip elements that are out of range. With a check, the run fails and reports the place.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/check.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

// Returns OutOfRange reporting the first element that is out of range.
absl::Status CheckValues(const Check& check, const HostTensor& values);

// Runs the check if the values are known before a run; Ok otherwise. Returns OutOfRange also if the
// check admits no value at all.
absl::Status CheckIfKnown(const Check& check, const Tensor& values);

// Returns integers `values` as a tensor with a check: a run that computes anything from it fails if
// the check does, unless the run is unchecked. A run evaluates each check once, and only checks
// that its results need. Values known already are checked at once.
absl::StatusOr<Tensor> Checked(const Tensor& values, Check check);

// --- For runners of lazy tensors.

struct CheckedTensor {
  std::shared_ptr<const Check> check;
  Tensor values;
};

// All checks that `tensors` depend on, by order; the search stops at placeholders.
std::vector<CheckedTensor> ChecksOf(absl::Span<const Tensor> tensors);

// Returns one uint64 per bound of the check: 0 if all values are in range. The elementwise maximum
// of two statuses is their combined status.
absl::StatusOr<Tensor> StatusOf(const CheckedTensor& checked);
// The elements of a status tensor.
std::vector<uint64_t> StatusNumbers(const HostTensor& status);
// Returns OutOfRange reporting one value out of range, if there is one.
absl::Status ReadStatus(const Check& check, absl::Span<const uint64_t> status);

}  // namespace tartan::api
