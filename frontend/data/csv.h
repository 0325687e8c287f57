// SPDX-License-Identifier: Apache-2.0
// Parses tables of numbers in CSV text (RFC 4180), with or without quotes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/data/dataset.h"

namespace tartan::data {

struct CsvOptions {
  std::string label = "";  // name of the label column; empty: the last column
  // True if the first line names the columns; by default, true if none of its cells is a number.
  std::optional<bool> has_header = std::nullopt;
  bool allow_missing = false;  // accepts NaN, infinity, and an empty cell as NaN
};

// Returns the columns "x", float32 [rows, features], and "y", [rows]: int64 if all labels are
// integers, otherwise float32. Empty lines are skipped. InvalidArgument names line and column of a
// cell that is not a number, and lines with another number of cells than the first. Errors do not
// name the file.
absl::StatusOr<std::vector<NamedTensor>> ParseCsv(absl::string_view text,
                                                  const CsvOptions& options = {});

}  // namespace tartan::data
