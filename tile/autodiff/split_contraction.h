// SPDX-License-Identifier: Apache-2.0
// Splits a contraction of several tensors into two steps: a combination that is stored, and an
// aggregation.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/ir/program.h"

namespace tartan::autodiff {

struct StoredContraction {
  ir::Contraction combine;  // assigns the combination of every index point
  std::vector<int64_t> dims;
};

struct SplitContraction {
  StoredContraction stored;  // one dimension per index variable
  // Aggregates the stored value, which the caller sets as inputs[0].tensor. It reaches
  // exactly the output elements that the original reaches.
  ir::Contraction aggregate;
};

// `input_dims` and `output_dims`: dimensions of the accessed tensors. Returns nothing if no index
// point is valid, Unimplemented if coefficients exceed 60 bits.
absl::StatusOr<std::optional<SplitContraction>> Split(
    const ir::Contraction& contraction, absl::Span<const std::vector<int64_t>> input_dims,
    const std::vector<int64_t>& output_dims);

// Stores the values of each output element contiguously: the output's dimensions come first, then
// the index variables that it does not determine.
absl::StatusOr<std::optional<StoredContraction>> StoreByElement(
    const ir::Contraction& contraction, absl::Span<const std::vector<int64_t>> input_dims,
    const std::vector<int64_t>& output_dims);

}  // namespace tartan::autodiff
