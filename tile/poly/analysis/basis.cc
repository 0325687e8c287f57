// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/analysis/basis.h"

#include <cstdlib>
#include <utility>

#include "tile/math/integer.h"

namespace tartan::poly {
namespace {

using math::Affine;
using math::FloorDiv;
using math::FloorMod;
using math::Gcd;
using math::Rational;

// Maximum magnitude of a coefficient, so that later sums of a few multiplied numbers stay exact.
constexpr int64_t kLimit = int64_t{1} << 58;

// Returns x with a * x = 1 modulo m. Requires that a and m have no common factor, and m > 0.
int64_t InverseModulo(int64_t a, int64_t m) {
  int64_t r0 = m, r1 = FloorMod(a, m), s0 = 0, s1 = 1;
  while (r1 != 0) {
    int64_t quotient = r0 / r1;
    r0 = std::exchange(r1, r0 - quotient * r1);
    s0 = std::exchange(s1, s0 - quotient * s1);
  }
  return FloorMod(s0, m);
}

}  // namespace

Affine Row::ToAffine() const {
  Affine result = Affine::Constant(constant);
  result.coefficients.assign(coefficients.begin(), coefficients.end());
  return result;
}

Basis::Basis(int index_count) : columns_(index_count), originals_(index_count) {
  for (int i = 0; i < index_count; ++i) {
    originals_[i].coefficients.resize(index_count);
    originals_[i].coefficients[i] = 1;
  }
}

template <class F>
void Basis::ForEachRow(F f) {
  for (std::vector<Row>* rows : {&originals_, &outputs_, &ties_}) {
    for (Row& row : *rows) f(row);
  }
  f(work_);
}

int64_t Basis::MultiplyAdd(int64_t a, int64_t factor, int64_t b) const {
  int64_t product, sum;
  if (__builtin_mul_overflow(factor, b, &product) || __builtin_add_overflow(a, product, &sum) ||
      sum >= kLimit || sum <= -kLimit) {
    overflow_ = true;
    return 0;
  }
  return sum;
}

Row Basis::Compose(const Affine& poly) {
  Row result;
  result.coefficients.resize(columns_.size());
  auto to_integer = [this](const Rational& value) -> int64_t {
    if (value.is_integer() && value.numerator() < kLimit && value.numerator() > -kLimit) {
      return value.numerator();
    }
    overflow_ = true;
    return 0;
  };
  Rational constant = poly.constant;
  for (size_t i = 0; i < originals_.size(); ++i) {
    constant = constant + poly.coefficient(i) * originals_[i].constant;
  }
  result.constant = to_integer(constant);
  for (size_t column = 0; column < columns_.size(); ++column) {
    Rational sum;
    for (size_t i = 0; i < poly.coefficients.size(); ++i) {
      sum = sum + poly.coefficients[i] * originals_[i].coefficients[column];
    }
    result.coefficients[column] = to_integer(sum);
  }
  return result;
}

Row Basis::Compose(absl::Span<const int64_t> coefficients) const {
  Row result;
  result.coefficients.resize(columns_.size());
  for (size_t i = 0; i < coefficients.size(); ++i) {
    if (coefficients[i] == 0) continue;
    for (size_t column = 0; column < columns_.size(); ++column) {
      result.coefficients[column] = MultiplyAdd(result.coefficients[column], coefficients[i],
                                                originals_[i].coefficients[column]);
    }
  }
  return result;
}

int Basis::AddColumn(Column column) {
  columns_.push_back(column);
  ForEachRow([](Row& row) { row.coefficients.push_back(0); });
  return static_cast<int>(columns_.size()) - 1;
}

void Basis::AddMultiple(int target, int source, int64_t factor) {
  if (factor == 0) return;
  ForEachRow([&](Row& row) {
    int64_t& value = target < 0 ? row.constant : row.coefficients[target];
    value = MultiplyAdd(value, factor, row.coefficients[source]);
  });
}

int Basis::EliminateFree() {
  for (;;) {
    int pivot = -1;
    bool others = false;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].role != Column::Role::kFree || work_.coefficients[i] == 0) continue;
      if (pivot >= 0) others = true;
      if (pivot < 0 || std::abs(work_.coefficients[i]) < std::abs(work_.coefficients[pivot])) {
        pivot = static_cast<int>(i);
      }
    }
    if (pivot >= 0 && work_.coefficients[pivot] < 0) AddMultiple(pivot, pivot, -2);
    if (!others) return pivot;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (static_cast<int>(i) == pivot || columns_[i].role != Column::Role::kFree) continue;
      int64_t quotient = FloorDiv(work_.coefficients[i], work_.coefficients[pivot]);
      AddMultiple(static_cast<int>(i), pivot, -quotient);
    }
  }
}

bool Basis::RequireInteger(const Affine& poly) {
  if (poly.is_integer()) return true;
  // scale * poly has only integer coefficients; it must be 0 modulo scale.
  int64_t scale = poly.constant.denominator();
  for (const Rational& c : poly.coefficients) {
    int64_t factor = c.denominator() / Gcd(scale, c.denominator());
    scale = MultiplyAdd(0, scale, factor);
    if (overflow_) return true;
  }
  work_ = Compose(poly * Rational(scale));
  int pivot = EliminateFree();
  if (overflow_) return true;
  if (pivot < 0) return work_.constant % scale == 0;
  // Solves a * column + constant = 0 modulo scale: column = start + step * new column.
  int64_t a = work_.coefficients[pivot], gcd = Gcd(a, scale), step = scale / gcd;
  if (work_.constant % gcd != 0) return false;
  Rational start =
      Rational(FloorMod(-work_.constant / gcd, step)) * Rational(InverseModulo(a / gcd, step));
  if (!start.valid()) {
    overflow_ = true;
    return true;
  }
  AddMultiple(-1, pivot, FloorMod(start.numerator(), step));
  AddMultiple(pivot, pivot, step - 1);
  return true;
}

void Basis::SplitDigits(int64_t step) {
  size_t count = columns_.size();
  for (size_t i = 0; i < count; ++i) {
    if (columns_[i].role == Column::Role::kFree) continue;
    int64_t rest = FloorMod(work_.coefficients[i], step);
    if (rest == 0) continue;
    int64_t radix = step / Gcd(rest, step);
    const Column whole = columns_[i];
    if (whole.width <= radix || (whole.is_digit && whole.width % radix != 0)) continue;
    Column high = whole;
    high.weight = MultiplyAdd(0, whole.weight, radix);
    high.width = math::CeilDiv(whole.width, radix);
    columns_[i].width = radix;
    columns_[i].is_digit = true;
    AddMultiple(AddColumn(high), static_cast<int>(i), radix);
  }
}

void Basis::ReduceBy(int pivot) {
  int64_t step = work_.coefficients[pivot];
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].role == Column::Role::kFree) continue;
    AddMultiple(static_cast<int>(i), pivot, -FloorDiv(work_.coefficients[i], step));
  }
  AddMultiple(-1, pivot, -FloorDiv(work_.constant, step));
}

void Basis::AddOutput(const Affine& poly, int64_t size) {
  int dimension = static_cast<int>(outputs_.size());
  work_ = Compose(poly);
  int pivot = EliminateFree();
  if (overflow_) return;
  int64_t step = pivot < 0 ? 0 : work_.coefficients[pivot];
  if (step > 0) {
    SplitDigits(step);
    ReduceBy(pivot);
    columns_[pivot] = {Column::Role::kOutput, dimension, step, math::CeilDiv(size, step), false};
  }
  if (step == 1) {
    outputs_.push_back(work_);
    return;
  }
  // Adds a column for the elements that the polynomial does not reach, with a tie where it does. It
  // is the whole coordinate if other columns determine that, else the distance from a multiple of
  // step.
  Row tie = work_;
  int rest = AddColumn({Column::Role::kOutput, dimension, 1, step > 0 ? step : size, step > 0});
  tie.coefficients.push_back(0);
  Row output;
  output.coefficients.resize(columns_.size());
  if (step > 0) {
    output = tie;
    output.constant = 0;
    for (int64_t& c : tie.coefficients) c = 0;
  }
  output.coefficients[rest] = 1;
  for (int64_t& c : tie.coefficients) c = -c;
  tie.constant = -tie.constant;
  tie.coefficients[rest] = 1;
  outputs_.push_back(std::move(output));
  ties_.push_back(std::move(tie));
}

std::optional<Basis::Fit> Basis::TryReduced(absl::Span<const int64_t> coefficients) const {
  Row row = Compose(coefficients);
  Fit fit{0, false};
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].role == Column::Role::kFree) fit.step = Gcd(fit.step, row.coefficients[i]);
  }
  if (fit.step == 0) return std::nullopt;
  for (size_t i = 0; i < columns_.size(); ++i) {
    int64_t rest = FloorMod(row.coefficients[i], fit.step);
    if (columns_[i].role != Column::Role::kOutput || columns_[i].is_digit || rest == 0) continue;
    if (columns_[i].width > fit.step / Gcd(rest, fit.step)) fit.splits_output = true;
  }
  return fit;
}

void Basis::AddReduced(absl::Span<const int64_t> coefficients, int64_t width) {
  work_ = Compose(coefficients);
  int pivot = EliminateFree();
  if (overflow_) return;
  int64_t step = work_.coefficients[pivot];
  SplitDigits(step);
  ReduceBy(pivot);
  columns_[pivot] = {Column::Role::kReduced, reduced_rows_++, step, math::CeilDiv(width, step),
                     false};
}

bool Basis::has_free_columns() const {
  for (const Column& column : columns_) {
    if (column.role == Column::Role::kFree) return true;
  }
  return false;
}

}  // namespace tartan::poly
