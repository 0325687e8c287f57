// SPDX-License-Identifier: Apache-2.0
// Checks of numbers that are known at run time only: indices, lengths, labels. Tile's gathers clamp
// and its scatters leave out what is out of range; with a check the run fails and tells where.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

struct Bounds {
  int64_t least = 0;  // at most 0
  int64_t greatest = 0;
  std::string place;  // "axis 0"; may be empty
};

// What integers are held to. Errors read "gather_3 (Gather, opset 13): index 99 is out of range
// [-10, 9] of axis 0".
struct Check {
  std::string node;
  std::string noun = "index";
  // One for all elements, or one for each along the last dimension.
  std::vector<Bounds> bounds;
  std::optional<int64_t> exempt;  // allowed besides
  // Of several checks that fail in one run, that of the least order is reported.
  int64_t order = 0;
};

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
