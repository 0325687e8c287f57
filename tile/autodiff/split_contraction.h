// A contraction of several tensors as two steps: combine, for every index point, and aggregate. The
// middle value has one dimension per index variable, so that rules for the aggregation of one
// tensor serve for all.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/ir/program.h"

namespace tartan::autodiff {

struct SplitContraction {
  ir::Contraction combine;    // assigns to the middle value
  std::vector<int64_t> dims;  // of the middle value
  // Of the middle value, which is to be put in inputs[0].tensor. The output is reached by exactly
  // the index points of the original.
  ir::Contraction aggregate;
};

// `input_dims` and `output_dims` are the sizes of what is accessed. Nothing where no index point
// is valid. Unimplemented where intervals do not bound a variable (only i + j and i - j do).
absl::StatusOr<std::optional<SplitContraction>> Split(
    const ir::Contraction& contraction, absl::Span<const std::vector<int64_t>> input_dims,
    const std::vector<int64_t>& output_dims);

}  // namespace tartan::autodiff
