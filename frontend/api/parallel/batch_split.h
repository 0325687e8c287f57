// SPDX-License-Identifier: Apache-2.0
// Splits the inputs of a run along the batch axis and joins the outputs of the parts. Needs no
// device.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/model.h"
#include "frontend/api/value.h"

namespace tartan::api {

using NamedValues = std::map<std::string, HostValue>;

// Divides `rows` into parts for at most `parts` devices. Sizes differ by at most one, larger parts
// come first, and no part is empty. No rows: one part of 0 rows.
std::vector<int64_t> DivideRows(int64_t rows, int64_t parts);

// The batch axis of a model is the open first dimension of its first input that has one. Inputs
// with this dimension, or with an unnamed open first dimension, are split. Every part gets the
// other inputs whole. Outputs are joined along their first dimension.
class BatchSplit {
 public:
  // InvalidArgument, naming inputs or an output, if the model has no batch axis.
  static absl::StatusOr<BatchSplit> Create(const Model& model);

  // The number of rows of the batch. InvalidArgument if an input that is split is missing or is a
  // scalar, or if two inputs differ in their rows.
  absl::StatusOr<int64_t> CountRows(const NamedValues& inputs) const;
  // The inputs of each part. `sizes` are rows whose sum is CountRows.
  std::vector<NamedValues> Split(const NamedValues& inputs, absl::Span<const int64_t> sizes) const;
  // The inputs with their first row in place of every other row.
  NamedValues RepeatFirstRow(const NamedValues& inputs) const;
  // Joins the outputs of each part, in the order of the model's outputs. FailedPrecondition, naming
  // the output, if an output of a part does not have the part's rows.
  absl::StatusOr<std::vector<HostValue>> Join(const std::vector<std::vector<HostValue>>& parts,
                                              absl::Span<const int64_t> sizes) const;

 private:
  bool is_split(const std::string& input) const;

  std::string symbol_;                // name of the batch dimension; empty: unnamed
  std::vector<std::string> inputs_;   // inputs that are split
  std::vector<std::string> outputs_;  // names of all outputs
};

// Name of the first output whose first rows differ; empty if none does. Floats may differ by one
// thousandth of the row's maximum magnitude, float16 and bfloat16 by one hundredth.
std::string FirstRowDifference(const Model& model, const std::vector<HostValue>& a,
                               const std::vector<HostValue>& b);

}  // namespace tartan::api
