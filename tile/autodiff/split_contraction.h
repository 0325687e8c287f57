// SPDX-License-Identifier: Apache-2.0
// A contraction of several tensors as two steps: combine, into a value that is stored, and
// aggregate.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/ir/program.h"

namespace tartan::autodiff {

struct StoredContraction {
  ir::Contraction combine;  // an assignment of the combination at every index point
  std::vector<int64_t> dims;
};

struct SplitContraction {
  StoredContraction stored;  // one dimension per index variable
  // Of the stored value, which is to be put in inputs[0].tensor. The output is reached by exactly
  // the index points of the original.
  ir::Contraction aggregate;
};

// `input_dims` and `output_dims` are the sizes of what is accessed. Nothing where no index point
// is valid. Unimplemented where coefficients leave 60 bits.
absl::StatusOr<std::optional<SplitContraction>> Split(
    const ir::Contraction& contraction, absl::Span<const std::vector<int64_t>> input_dims,
    const std::vector<int64_t>& output_dims);

// Stores the values that belong to one output element side by side: the dimensions of the output
// come first, then those of the index variables that it leaves free.
absl::StatusOr<std::optional<StoredContraction>> StoreByElement(
    const ir::Contraction& contraction, absl::Span<const std::vector<int64_t>> input_dims,
    const std::vector<int64_t>& output_dims);

}  // namespace tartan::autodiff
