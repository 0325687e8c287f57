// SPDX-License-Identifier: Apache-2.0
#include "frontend/train/graph/tile_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tartan::train {

std::string Number(double value) {
  return absl::StrCat("as_float(", absl::StrFormat("%.17g", value), ", 32)");
}

std::string Indices(int64_t count) {
  std::string names;
  for (int64_t i = 0; i < count; ++i) absl::StrAppend(&names, i > 0 ? ", " : "", "i", i);
  return names;
}

}  // namespace tartan::train
