// SPDX-License-Identifier: Apache-2.0
// The index arithmetic of a kernel as loop IR expressions.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tile/loop/build.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Index arithmetic of one kernel: polynomials over index variables as expressions.
class IndexEmitter {
 public:
  IndexEmitter(const poly::FlatContraction& flat, DataType index_type)
      : flat_(flat), index_type_(index_type), values_(flat.indices.size()) {}

  DataType type() const { return index_type_; }
  loop::ExprPtr Number(int64_t value) const { return loop::Int(value, index_type_); }
  // The expression that holds the current value of an index.
  void Set(int index, loop::ExprPtr value) { values_[index] = std::move(value); }
  const loop::ExprPtr& value(int index) const { return values_[index]; }

  loop::ExprPtr Emit(const math::Affine& poly) const;
  // 0 <= poly < range, without the sides the index ranges imply; null where both are. `shift` is
  // added to the polynomial.
  loop::ExprPtr Condition(const math::RangeConstraint& constraint, int64_t shift = 0) const;
  // The same of the polynomial's value, which may be a vector.
  loop::ExprPtr Condition(const math::RangeConstraint& constraint,
                          const loop::ExprPtr& value) const;

 private:
  const poly::FlatContraction& flat_;
  const DataType index_type_;
  std::vector<loop::ExprPtr> values_;
};

// Where in a register tile: the distance of each index from the value that `IndexEmitter` has.
using Position = std::vector<int64_t>;

// What the polynomial gains at a position.
int64_t ShiftAt(const math::Affine& poly, const Position& position);

// Some tensor is too large for 32-bit index arithmetic.
bool NeedsWideIndices(const poly::FlatContraction& flat);

}  // namespace tartan::lower
