// SPDX-License-Identifier: Apache-2.0
// Checks all data of a dataset before training uses it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontend/data/dataset.h"

namespace tartan::data {

// A column whose values are class labels: integers in [0, classes), or the ignored one.
struct Labels {
  std::string column;
  int64_t classes = 0;
  std::optional<int64_t> ignored = std::nullopt;
};

struct CheckOptions {
  std::vector<std::string> columns = {};  // none: all
  std::vector<Labels> labels = {};
};

// Reads the columns once, a few MiB at a time. InvalidArgument names column, example, element and
// value of the first NaN, infinity or label out of range. Returns errors of reading and of
// checksums (Dataset::Verify). NotFound for an unknown column.
absl::Status CheckData(const Dataset& dataset, const CheckOptions& options = {});

}  // namespace tartan::data
