// SPDX-License-Identifier: Apache-2.0
#include "frontend/cli/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tartan::cli {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double AbsoluteError(double actual, double expected) {
  if (std::isnan(actual) && std::isnan(expected)) return 0;
  if (actual == expected) return 0;
  if (!std::isfinite(actual) || !std::isfinite(expected)) return kInfinity;
  return std::abs(actual - expected);
}

// "[0, 3, 1]" for a flat index.
std::string Position(int64_t index, const std::vector<int64_t>& dims) {
  std::vector<int64_t> position(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    position[d] = index % dims[d];
    index /= dims[d];
  }
  return DimsToString(position);
}

}  // namespace

Comparison Compare(const HostTensor& actual, const HostTensor& expected, Tolerance tolerance) {
  Comparison result;
  if (actual.shape() != expected.shape()) {
    result.equal = false;
    result.max_abs_error = result.max_rel_error = kInfinity;
    result.message =
        absl::StrCat("is ", actual.shape().ToString(), ", expected ", expected.shape().ToString());
    return result;
  }
  int64_t wrong = 0;
  int64_t first_wrong = 0;
  const int64_t count = actual.element_count();
  for (int64_t i = 0; i < count; ++i) {
    if (!IsFloat(actual.type()) && actual.GetInt(i) == expected.GetInt(i)) continue;
    const double a = actual.GetDouble(i);
    const double e = expected.GetDouble(i);
    // Equal as doubles but not as integers: they differ by less than the rounding error.
    const double error = !IsFloat(actual.type()) && a == e ? 1 : AbsoluteError(a, e);
    result.max_abs_error = std::max(result.max_abs_error, error);
    if (e != 0 && !std::isnan(e)) {
      const double relative = std::isfinite(error) ? error / std::abs(e) : kInfinity;
      result.max_rel_error = std::max(result.max_rel_error, relative);
    }
    const double allowed =
        std::isfinite(e) ? tolerance.absolute + tolerance.relative * std::abs(e) : 0;
    if (error <= allowed) continue;
    if (wrong++ == 0) first_wrong = i;
  }
  if (wrong == 0) return result;
  result.equal = false;
  result.message = absl::StrFormat(
      "%d of %d elements differ, first at %s: %.9g, expected %.9g; maximum error %.3g", wrong,
      count, Position(first_wrong, actual.shape().dims), actual.GetDouble(first_wrong),
      expected.GetDouble(first_wrong), result.max_abs_error);
  return result;
}

namespace {

Comparison Differs(std::string message) {
  Comparison result;
  result.equal = false;
  result.max_abs_error = result.max_rel_error = kInfinity;
  result.message = std::move(message);
  return result;
}

Comparison CompareStrings(const api::HostValue& actual, const api::HostValue& expected) {
  const std::vector<std::string> a = api::StringsOf(actual);
  const std::vector<std::string> e = api::StringsOf(expected);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == e[i]) continue;
    return Differs(absl::StrCat("element ", i, " is \"", a[i], "\", expected \"", e[i], "\""));
  }
  return {};
}

Comparison CompareElements(const api::HostValue& actual, const api::HostValue& expected,
                           Tolerance tolerance) {
  Comparison result;
  for (size_t i = 0; i < expected.elements().size(); ++i) {
    const Comparison element = Compare(actual.elements()[i], expected.elements()[i], tolerance);
    result.max_abs_error = std::max(result.max_abs_error, element.max_abs_error);
    result.max_rel_error = std::max(result.max_rel_error, element.max_rel_error);
    if (element.equal || !result.equal) continue;
    result.equal = false;
    result.message = actual.is_map()
                         ? absl::StrCat(i == 0 ? "the keys: " : "the values: ", element.message)
                         : absl::StrCat("element ", i, " of the sequence ", element.message);
  }
  return result;
}

}  // namespace

Comparison Compare(const api::HostValue& actual, const api::HostValue& expected,
                   Tolerance tolerance) {
  const bool alike =
      actual.kind() == expected.kind() && actual.element() == expected.element() &&
      (!actual.is_sequence() || actual.elements().size() == expected.elements().size());
  if (!alike) {
    return Differs(absl::StrCat("is ", Describe(actual), ", expected ", Describe(expected)));
  }
  if (actual.is_nothing()) return {};
  if (actual.is_sequence() || actual.is_map()) return CompareElements(actual, expected, tolerance);
  const bool same_shape = actual.tensor().shape() == expected.tensor().shape();
  if (actual.is_strings() && same_shape) return CompareStrings(actual, expected);
  return Compare(actual.tensor(), expected.tensor(), tolerance);
}

}  // namespace tartan::cli
