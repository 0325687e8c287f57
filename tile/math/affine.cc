// SPDX-License-Identifier: Apache-2.0
#include "tile/math/affine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tartan::math {
namespace {

template <class Combine>
Affine Combined(const Affine& a, const Affine& b, Combine combine) {
  Affine result;
  size_t size = std::max(a.coefficients.size(), b.coefficients.size());
  result.coefficients.reserve(size);
  for (size_t i = 0; i < size; ++i) {
    result.coefficients.push_back(combine(a.coefficient(i), b.coefficient(i)));
  }
  result.constant = combine(a.constant, b.constant);
  return result;
}

}  // namespace

Affine Affine::Variable(int index, Rational coefficient) {
  Affine result;
  result.set_coefficient(index, coefficient);
  return result;
}

void Affine::set_coefficient(int index, Rational value) {
  if (index >= static_cast<int>(coefficients.size())) coefficients.resize(index + 1);
  coefficients[index] = value;
}

bool Affine::is_constant() const {
  return std::all_of(coefficients.begin(), coefficients.end(),
                     [](const Rational& c) { return c.is_zero(); });
}

bool Affine::is_integer() const {
  return constant.is_integer() && std::all_of(coefficients.begin(), coefficients.end(),
                                              [](const Rational& c) { return c.is_integer(); });
}

int Affine::single_variable() const {
  int found = -1;
  for (size_t i = 0; i < coefficients.size(); ++i) {
    if (coefficients[i].is_zero()) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

bool Affine::valid() const {
  return constant.valid() && std::all_of(coefficients.begin(), coefficients.end(),
                                         [](const Rational& c) { return c.valid(); });
}

Rational Affine::Evaluate(absl::Span<const int64_t> point) const {
  Rational result = constant;
  for (size_t i = 0; i < coefficients.size(); ++i) {
    if (!coefficients[i].is_zero()) result = result + coefficients[i] * point[i];
  }
  return result;
}

Affine Affine::Substitute(absl::Span<const Affine> map) const {
  Affine result = Constant(constant);
  for (size_t i = 0; i < coefficients.size(); ++i) {
    if (coefficients[i].is_zero()) continue;
    const Affine& term = map[i];
    if (result.coefficients.size() < term.coefficients.size()) {
      result.coefficients.resize(term.coefficients.size());
    }
    for (size_t j = 0; j < term.coefficients.size(); ++j) {
      result.coefficients[j] = result.coefficients[j] + coefficients[i] * term.coefficients[j];
    }
    result.constant = result.constant + coefficients[i] * term.constant;
  }
  return result;
}

std::string Affine::ToString(absl::Span<const std::string> names) const {
  std::string text;
  auto append = [&text](const Rational& value, const std::string& name) {
    bool negative = value.valid() && value < Rational(0);
    Rational magnitude = negative ? -value : value;
    absl::StrAppend(&text, text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + "));
    if (name.empty()) {
      absl::StrAppend(&text, magnitude.ToString());
    } else if (magnitude == Rational(1)) {
      absl::StrAppend(&text, name);
    } else {
      absl::StrAppend(&text, magnitude.ToString(), "*", name);
    }
  };
  for (size_t i = 0; i < coefficients.size(); ++i) {
    if (coefficients[i].is_zero()) continue;
    append(coefficients[i], i < names.size() ? names[i] : absl::StrCat("i", i));
  }
  if (text.empty() || !constant.is_zero()) append(constant, "");
  return text;
}

Affine operator+(const Affine& a, const Affine& b) {
  return Combined(a, b, [](const Rational& x, const Rational& y) { return x + y; });
}

Affine operator-(const Affine& a, const Affine& b) {
  return Combined(a, b, [](const Rational& x, const Rational& y) { return x - y; });
}

Affine operator*(const Affine& a, const Rational& b) {
  Affine result = a;
  for (Rational& c : result.coefficients) c = c * b;
  result.constant = result.constant * b;
  return result;
}

Affine operator-(const Affine& a) { return a * Rational(-1); }

bool operator==(const Affine& a, const Affine& b) {
  if (a.constant != b.constant) return false;
  size_t size = std::max(a.coefficients.size(), b.coefficients.size());
  for (size_t i = 0; i < size; ++i) {
    if (a.coefficient(i) != b.coefficient(i)) return false;
  }
  return true;
}

bool RangeConstraint::Holds(absl::Span<const int64_t> point) const {
  Rational value = poly.Evaluate(point);
  return value.valid() && value >= Rational(0) && value < Rational(range);
}

std::string RangeConstraint::ToString(absl::Span<const std::string> names) const {
  return absl::StrCat("0 <= ", poly.ToString(names), " < ", range);
}

}  // namespace tartan::math
