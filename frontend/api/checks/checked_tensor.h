// SPDX-License-Identifier: Apache-2.0
// Checks of numbers that are known at run time only: indices, lengths, labels. Tile's gathers clamp
// and its scatters leave out what is out of range; with a check the run fails and tells where.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/checks/check.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

// OutOfRange telling the first element that is out of range.
absl::Status CheckValues(const Check& check, const HostTensor& values);

// The same for values that are known before anything runs; Ok for others. OutOfRange also where no
// number is in range.
absl::Status CheckIfKnown(const Check& check, const Tensor& values);

// `values`, integers, as a tensor whose use includes the check: whatever runs something computed
// from it fails where the check does, unless it is told not to check. Nothing is checked twice in a
// run, and nothing that the results do not need. What is known already is checked now.
absl::StatusOr<Tensor> Checked(const Tensor& values, Check check);

// --- For whoever runs lazy tensors.

struct CheckedTensor {
  std::shared_ptr<const Check> check;
  Tensor values;
};

// The checks of everything `tensors` are computed from, by order; placeholders are the end.
std::vector<CheckedTensor> ChecksOf(absl::Span<const Tensor> tensors);

// uint64, one number for each of the check's bounds: 0 where the values are in range. Of two such
// results the elementwise maximum is that of both.
absl::StatusOr<Tensor> StatusOf(const CheckedTensor& checked);
// OutOfRange telling one value that is out of range, if there is one.
absl::Status ReadStatus(const Check& check, absl::Span<const uint64_t> status);

}  // namespace tartan::api
