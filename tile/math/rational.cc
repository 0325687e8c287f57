// SPDX-License-Identifier: Apache-2.0
#include "tile/math/rational.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace tartan::math {
namespace {

__extension__ using Int128 = __int128;

Int128 Gcd128(Int128 a, Int128 b) {
  while (b != 0) {
    Int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

bool FitsInt64(Int128 value) {
  return value >= std::numeric_limits<int64_t>::min() &&
         value <= std::numeric_limits<int64_t>::max();
}

Rational Reduced(Int128 numerator, Int128 denominator) {
  if (denominator == 0) return Rational::Invalid();
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  Int128 gcd = Gcd128(numerator, denominator);
  numerator /= gcd;
  denominator /= gcd;
  if (!FitsInt64(numerator) || !FitsInt64(denominator)) return Rational::Invalid();
  return Rational::FromReduced(static_cast<int64_t>(numerator), static_cast<int64_t>(denominator));
}

// a + sign * b. A multiplication of two 64-bit numbers has at most 126 bits, so that the sum fits.
Rational Sum(const Rational& a, const Rational& b, int sign) {
  if (!a.valid() || !b.valid()) return Rational::Invalid();
  Int128 an = a.numerator(), bn = Int128{b.numerator()} * sign;
  return Reduced(an * b.denominator() + bn * a.denominator(),
                 Int128{a.denominator()} * b.denominator());
}

}  // namespace

Rational::Rational(int64_t numerator, int64_t denominator) {
  *this = denominator == 0 ? FromReduced(0, 0) : Reduced(numerator, denominator);
}

int64_t Rational::Floor() const {
  int64_t quotient = numerator_ / denominator_;
  return numerator_ % denominator_ < 0 ? quotient - 1 : quotient;
}

int64_t Rational::Ceil() const {
  int64_t quotient = numerator_ / denominator_;
  return numerator_ % denominator_ > 0 ? quotient + 1 : quotient;
}

std::string Rational::ToString() const {
  if (!valid()) return "invalid";
  if (is_integer()) return absl::StrCat(numerator_);
  return absl::StrCat(numerator_, "/", denominator_);
}

Rational operator+(const Rational& a, const Rational& b) {
  int64_t sum;
  if (a.is_integer() && b.is_integer() &&
      !__builtin_add_overflow(a.numerator(), b.numerator(), &sum)) {
    return sum;
  }
  return Sum(a, b, 1);
}

Rational operator-(const Rational& a, const Rational& b) {
  int64_t difference;
  if (a.is_integer() && b.is_integer() &&
      !__builtin_sub_overflow(a.numerator(), b.numerator(), &difference)) {
    return difference;
  }
  return Sum(a, b, -1);
}

Rational operator*(const Rational& a, const Rational& b) {
  int64_t product;
  if (a.is_integer() && b.is_integer() &&
      !__builtin_mul_overflow(a.numerator(), b.numerator(), &product)) {
    return product;
  }
  if (!a.valid() || !b.valid()) return Rational::Invalid();
  return Reduced(Int128{a.numerator()} * b.numerator(), Int128{a.denominator()} * b.denominator());
}

Rational operator/(const Rational& a, const Rational& b) {
  if (!a.valid() || !b.valid() || b.is_zero()) return Rational::Invalid();
  return Reduced(Int128{a.numerator()} * b.denominator(), Int128{a.denominator()} * b.numerator());
}

Rational operator-(const Rational& a) { return Rational(0) - a; }

bool operator<(const Rational& a, const Rational& b) {
  return Int128{a.numerator()} * b.denominator() < Int128{b.numerator()} * a.denominator();
}

std::ostream& operator<<(std::ostream& out, const Rational& r) { return out << r.ToString(); }

}  // namespace tartan::math
