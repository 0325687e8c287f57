// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/tile/compiler/programs.h"

namespace tartan {

std::string FirstDifference(const HostTensor& actual, const HostTensor& expected,
                            double tolerance) {
  if (actual.shape() != expected.shape()) {
    return absl::StrCat("shape ", actual.shape().ToString(), " instead of ",
                        expected.shape().ToString());
  }
  for (int64_t i = 0; i < expected.element_count(); ++i) {
    bool equal = false;
    if (IsFloat(expected.type())) {
      const double a = actual.GetDouble(i);
      const double b = expected.GetDouble(i);
      equal = a == b || (std::isnan(a) && std::isnan(b)) ||
              std::abs(a - b) <= tolerance * (1 + std::abs(b));
    } else {
      equal = actual.GetInt(i) == expected.GetInt(i);
    }
    if (!equal) {
      return absl::StrCat("element ", i, " is ", actual.GetDouble(i), " instead of ",
                          expected.GetDouble(i));
    }
  }
  return "";
}

}  // namespace tartan
