// SPDX-License-Identifier: Apache-2.0
// Tables of numbers as text: cells between commas, in quotes or not (RFC 4180).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/data/dataset.h"

namespace tartan::data {

struct CsvOptions {
  std::string label = "";  // the name of the column with the labels; empty: the last
  // Whether the first line names the columns. By default it does if none of its cells is a number.
  std::optional<bool> has_header = std::nullopt;
  bool allow_missing = false;  // takes NaN, infinity, and an empty cell as NaN
};

// The columns "x", float32 [rows, features], and "y", [rows]: int64 if all labels are integers,
// else float32. Empty lines are left out. InvalidArgument names line and column of what is no
// number, and lines with more or fewer cells than the first; errors do not name the file.
absl::StatusOr<std::vector<NamedTensor>> ParseCsv(absl::string_view text,
                                                  const CsvOptions& options = {});

}  // namespace tartan::data
