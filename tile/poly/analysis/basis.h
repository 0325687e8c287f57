// SPDX-License-Identifier: Apache-2.0
// A change of variables: the indices of a contraction as integer polynomials of new variables (the
// columns), chosen such that given polynomials become single columns, or sums of digits. This is
// reduce and defract in one: each added row brings the matrix of rows one column further into
// Hermite normal form, so fractions never appear. See README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "tile/math/affine.h"

namespace tartan::poly {

// A polynomial over the columns.
struct Row {
  std::vector<int64_t> coefficients;  // one per column
  int64_t constant = 0;

  math::Affine ToAffine() const;
};

struct Column {
  enum class Role { kFree, kOutput, kReduced };
  Role role = Role::kFree;
  int row = -1;           // the output dimension, or the number of the reduced row
  int64_t weight = 0;     // in the value of that row: greater for higher digits
  int64_t width = 0;      // about how many values it takes
  bool is_digit = false;  // 0 <= column < width exactly
};

class Basis {
 public:
  // Every index is a free column of its own.
  explicit Basis(int index_count);

  // Restricts the indices to where `poly` is an integer. False when it never is. Only before the
  // first row is added.
  bool RequireInteger(const math::Affine& poly);

  // Makes the polynomial, an integer wherever the indices may be, the coordinate of the next output
  // dimension, of size `size`: afterwards output coordinates and elements correspond one-to-one,
  // whether the contraction reaches an element (then the ties hold) or not.
  void AddOutput(const math::Affine& poly, int64_t size);

  // How a polynomial with integer coefficients would do as the next reduced row: its values among
  // the points of fixed columns are `step` apart.
  struct Fit {
    int64_t step = 1;
    bool splits_output = false;  // an output column would fall into digits
  };
  // Nothing when the columns in use determine the polynomial.
  std::optional<Fit> TryReduced(absl::Span<const int64_t> coefficients) const;

  // Makes one more free column a reduced one, on which, besides the columns before it, the
  // polynomial depends. Requires that TryReduced has a value; `width` is the number of values.
  void AddReduced(absl::Span<const int64_t> coefficients, int64_t width);

  bool has_free_columns() const;
  bool overflow() const { return overflow_; }  // everything else is meaningless then

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<Row>& originals() const { return originals_; }  // one per index
  const std::vector<Row>& outputs() const { return outputs_; }      // one per output dimension
  // Polynomials over output columns that are 0 exactly where the contraction has index points,
  // bounds aside.
  const std::vector<Row>& ties() const { return ties_; }

 private:
  template <class F>
  void ForEachRow(F f);
  Row Compose(const math::Affine& poly);
  Row Compose(absl::Span<const int64_t> coefficients) const;
  int64_t MultiplyAdd(int64_t a, int64_t factor, int64_t b) const;  // a + factor * b
  int AddColumn(Column column);
  // Every row's coefficient of `target` += factor * that of `source`; -1 is the constant.
  void AddMultiple(int target, int source, int64_t factor);
  // Leaves `work_` with at most one non-zero free column, made positive; -1 when there is none.
  int EliminateFree();
  void SplitDigits(int64_t step);
  // Takes the multiples of work_[pivot] out of the other coefficients and the constant of work_.
  void ReduceBy(int pivot);

  std::vector<Column> columns_;
  std::vector<Row> originals_, outputs_, ties_;
  Row work_;  // the row being added
  int reduced_rows_ = 0;
  mutable bool overflow_ = false;
};

}  // namespace tartan::poly
