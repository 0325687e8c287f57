// SPDX-License-Identifier: Apache-2.0
// Tile text of reductions over some axes of one tensor.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/base/data_type.h"

namespace tartan::onnx {

// Sizes after a reduction over `axes`, which are sorted and in [0, rank): KeptDims sets them to 1,
// DroppedDims removes them.
std::vector<int64_t> KeptDims(absl::Span<const int64_t> dims, absl::Span<const int64_t> axes);
std::vector<int64_t> DroppedDims(absl::Span<const int64_t> dims, absl::Span<const int64_t> axes);

// The number of elements reduced to one.
int64_t ReducedCount(absl::Span<const int64_t> dims, absl::Span<const int64_t> axes);

// The axes from `first` to the last one.
std::vector<int64_t> AxesFrom(int64_t first, int64_t rank);

// "S[i0, 0 : 2, 1] = +(X[i0, i1])": `aggregation` over the axes, whose sizes become 1.
std::string ReduceStatement(absl::string_view target, char aggregation, absl::string_view source,
                            absl::Span<const int64_t> dims, absl::Span<const int64_t> axes);
// "S[i0 : 2] = +(X[i0, i1])": the axes are dropped.
std::string DropStatement(absl::string_view target, char aggregation, absl::string_view source,
                          absl::Span<const int64_t> dims, absl::Span<const int64_t> axes);

// Statements that standardize `source` (sizes `dims`) over the axes. MEAN, VAR (population
// variance) and INV = 1 / sqrt(VAR + epsilon) have sizes of 1; NORM = (source - MEAN) * INV.
// Without `is_centered` the mean is taken as 0.
std::vector<std::string> StandardizeStatements(absl::string_view source,
                                               absl::Span<const int64_t> dims,
                                               absl::Span<const int64_t> axes, double epsilon,
                                               bool is_centered = true);

}  // namespace tartan::onnx
