// SPDX-License-Identifier: Apache-2.0
// Affine functions of numbered index variables: sum(coefficients[i] * x_i) + constant.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tile/math/rational.h"

namespace tartan::math {

struct Affine {
  // One per index variable of the space; missing trailing coefficients are 0.
  std::vector<Rational> coefficients;
  Rational constant;

  static Affine Constant(Rational value) { return {{}, value}; }
  static Affine Variable(int index, Rational coefficient = 1);

  Rational coefficient(int index) const {
    return index < static_cast<int>(coefficients.size()) ? coefficients[index] : Rational(0);
  }
  void set_coefficient(int index, Rational value);  // grows the vector as needed
  bool is_constant() const;
  bool is_integer() const;  // all coefficients and the constant are integers
  // The only variable with a non-zero coefficient; -1 if there are none or several.
  int single_variable() const;
  bool valid() const;

  Rational Evaluate(absl::Span<const int64_t> point) const;
  // Replaces every variable i by `map[i]`, an affine function over another space.
  Affine Substitute(absl::Span<const Affine> map) const;

  // "n + 2*x - 1" with the given names; "i0", "i1" … where names are missing.
  std::string ToString(absl::Span<const std::string> names = {}) const;
};

Affine operator+(const Affine& a, const Affine& b);
Affine operator-(const Affine& a, const Affine& b);
Affine operator*(const Affine& a, const Rational& b);
Affine operator-(const Affine& a);
// Ignores trailing zero coefficients.
bool operator==(const Affine& a, const Affine& b);

// 0 <= poly < range.
struct RangeConstraint {
  Affine poly;
  int64_t range = 0;

  bool operator==(const RangeConstraint&) const = default;
  // The polynomial need not be an integer at `point`.
  bool Holds(absl::Span<const int64_t> point) const;
  std::string ToString(absl::Span<const std::string> names = {}) const;
};

}  // namespace tartan::math
