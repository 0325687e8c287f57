// SPDX-License-Identifier: Apache-2.0
// Change of variables: writes the indices of a contraction as integer polynomials of new variables,
// the columns. They are chosen so that given polynomials become single columns or sums of digits.
// This combines reduce and defract: each added row brings the matrix of rows one column further
// into Hermite normal form, so fractions never appear. See ../README.md.
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
  int64_t weight = 0;     // weight in the value of that row; larger for higher digits
  int64_t width = 0;      // approximate number of values
  bool is_digit = false;  // the column takes exactly the values 0 to width - 1
};

class Basis {
 public:
  // Starts with one free column per index.
  explicit Basis(int index_count);

  // Restricts the indices to points at which `poly` is an integer. Returns false if there are none.
  // Must be called before the first row is added.
  bool RequireInteger(const math::Affine& poly);

  // Makes the polynomial, which must be an integer at all points, the coordinate of the next output
  // dimension of size `size`. Afterwards output coordinates and elements correspond one-to-one,
  // whether or not the contraction reaches an element. The ties hold for elements that it reaches.
  void AddOutput(const math::Affine& poly, int64_t size);

  // Cost of a polynomial with integer coefficients as the next reduced row: for fixed earlier
  // columns, its values are `step` apart.
  struct Fit {
    int64_t step = 1;
    bool splits_output = false;  // an output column would be split into digits
  };
  // Returns nothing if the columns in use determine the polynomial.
  std::optional<Fit> TryReduced(absl::Span<const int64_t> coefficients) const;

  // Turns one free column into a reduced one. The polynomial then depends only on it and on earlier
  // columns. Requires that TryReduced has a value. `width`: number of values.
  void AddReduced(absl::Span<const int64_t> coefficients, int64_t width);

  bool has_free_columns() const;
  bool overflow() const { return overflow_; }  // after an overflow, all other results are invalid

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<Row>& originals() const { return originals_; }  // one per index
  const std::vector<Row>& outputs() const { return outputs_; }      // one per output dimension
  // Polynomials over output columns that are 0 exactly where the contraction has index points,
  // ignoring bounds.
  const std::vector<Row>& ties() const { return ties_; }

 private:
  template <class F>
  void ForEachRow(F f);
  Row Compose(const math::Affine& poly);
  Row Compose(absl::Span<const int64_t> coefficients) const;
  int64_t MultiplyAdd(int64_t a, int64_t factor, int64_t b) const;  // a + factor * b
  int AddColumn(Column column);
  // Adds factor * coefficient of `source` to the coefficient of `target` in every row; target -1 is
  // the constant.
  void AddMultiple(int target, int source, int64_t factor);
  // Reduces `work_` to at most one nonzero free column, made positive, and returns it, or -1.
  int EliminateFree();
  void SplitDigits(int64_t step);
  // Subtracts multiples of work_[pivot] from the other coefficients and the constant of work_.
  void ReduceBy(int pivot);

  std::vector<Column> columns_;
  std::vector<Row> originals_, outputs_, ties_;
  Row work_;  // the row being added
  int reduced_rows_ = 0;
  mutable bool overflow_ = false;
};

}  // namespace tartan::poly
