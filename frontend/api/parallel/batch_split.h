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

// The batch dimension of a model is the open first dimension of its first input that has one.
// Inputs are split along the dimension with its name, or along an unnamed open first dimension.
// Every part gets the other inputs whole. Outputs are joined along the dimension with its name, or
// else along an open first dimension.
class BatchSplit {
 public:
  // InvalidArgument, naming inputs or an output, if the model has no batch dimension.
  static absl::StatusOr<BatchSplit> Create(const Model& model);

  // The number of rows of the batch. InvalidArgument if an input that is split is missing or lacks
  // the dimension, or if two inputs differ in their rows.
  absl::StatusOr<int64_t> CountRows(const NamedValues& inputs) const;
  // The inputs of each part. `sizes` are rows whose sum is at most CountRows.
  std::vector<NamedValues> Split(const NamedValues& inputs, absl::Span<const int64_t> sizes) const;
  // The inputs with this row in place of every other row.
  NamedValues RepeatRow(const NamedValues& inputs, int64_t row) const;
  // Joins the outputs of each part, in the order of the model's outputs. FailedPrecondition, naming
  // the output, if an output of a part does not have the part's rows.
  absl::StatusOr<std::vector<HostValue>> Join(const std::vector<std::vector<HostValue>>& parts,
                                              absl::Span<const int64_t> sizes) const;
  // Name of the first output that differs in this row; empty if none does. Floats may differ by one
  // thousandth of the row's maximum magnitude, float16 and bfloat16 by one hundredth. Both are
  // outputs that Join accepts.
  std::string RowDifference(const std::vector<HostValue>& a, const std::vector<HostValue>& b,
                            int64_t row) const;

 private:
  struct Axis {
    std::string name;  // of the input or output
    size_t axis = 0;   // the batch dimension
  };
  const Axis* Find(const std::string& input) const;

  std::vector<Axis> inputs_;   // inputs that are split
  std::vector<Axis> outputs_;  // all outputs
};

}  // namespace tartan::api
