// SPDX-License-Identifier: Apache-2.0
// Exact rational numbers with 64-bit numerator and denominator. An overflow gives an invalid
// number, which stays invalid in further computations; check valid() at the end.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace tartan::math {

class Rational {
 public:
  constexpr Rational() = default;
  constexpr Rational(int64_t value) : numerator_(value) {}  // NOLINT: an integer is a rational
  // Reduces to lowest terms with a positive denominator; invalid for denominator 0.
  Rational(int64_t numerator, int64_t denominator);
  static Rational Invalid() { return FromReduced(0, 0); }
  // Requires a positive denominator without a common factor; 0 and 0 give the invalid number.
  static constexpr Rational FromReduced(int64_t numerator, int64_t denominator) {
    Rational result(numerator);
    result.denominator_ = denominator;
    return result;
  }

  bool valid() const { return denominator_ != 0; }
  bool is_integer() const { return denominator_ == 1; }
  bool is_zero() const { return numerator_ == 0 && denominator_ == 1; }
  int64_t numerator() const { return numerator_; }
  int64_t denominator() const { return denominator_; }

  int64_t Floor() const;         // requires valid()
  int64_t Ceil() const;          // requires valid()
  std::string ToString() const;  // "3", "-2/3", "invalid"

  bool operator==(const Rational&) const = default;  // two invalid numbers are equal

 private:
  int64_t numerator_ = 0;
  int64_t denominator_ = 1;
};

Rational operator+(const Rational& a, const Rational& b);
Rational operator-(const Rational& a, const Rational& b);
Rational operator*(const Rational& a, const Rational& b);
Rational operator/(const Rational& a, const Rational& b);  // invalid for b == 0
Rational operator-(const Rational& a);
bool operator<(const Rational& a, const Rational& b);  // requires both valid
inline bool operator>(const Rational& a, const Rational& b) { return b < a; }
inline bool operator<=(const Rational& a, const Rational& b) { return !(b < a); }
inline bool operator>=(const Rational& a, const Rational& b) { return !(a < b); }

std::ostream& operator<<(std::ostream& out, const Rational& r);

}  // namespace tartan::math
