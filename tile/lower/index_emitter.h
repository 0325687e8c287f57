// SPDX-License-Identifier: Apache-2.0
// The index arithmetic of a kernel as loop IR expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tile/loop/build.h"
#include "tile/lower/size_arguments.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Where in a register tile: the distance of each index from the value that `IndexEmitter` has.
using Position = std::vector<int64_t>;

// Index arithmetic of one kernel: polynomials over index variables as expressions.
class IndexEmitter {
 public:
  // With `sizes`, which outlives the object, ranges, strides and offsets are arguments. Literals
  // are what tiles decide: their sizes, positions in them, and strides of 1.
  IndexEmitter(const poly::FlatContraction& flat, DataType index_type,
               SizeArguments* sizes = nullptr)
      : flat_(flat),
        index_type_(index_type),
        sizes_(sizes),
        values_(flat.indices.size()),
        steps_(flat.indices.size()) {}

  DataType type() const { return index_type_; }
  bool has_size_arguments() const { return sizes_ != nullptr; }
  loop::ExprPtr Number(int64_t value) const { return loop::Int(value, index_type_); }
  // A number that follows from the kernel's sizes; `role` tells it from others of the kernel.
  loop::ExprPtr Size(const std::string& role, int64_t value) const {
    return sizes_ == nullptr ? Number(value) : sizes_->Get(role, value);
  }
  // The argument for a literal that may follow from sizes, as a mean's divisor does. Requires size
  // arguments, and float32 or an integer that the index type holds.
  loop::ExprPtr LiteralNumber(const poly::ExprPtr& literal) const {
    return sizes_->GetNumber(literal);
  }
  // The expression that holds the current value of an index.
  void Set(int index, loop::ExprPtr value) { values_[index] = std::move(value); }
  const loop::ExprPtr& value(int index) const { return values_[index]; }
  // With size arguments: positions along the index are `step` values apart, which is an argument
  // too. Constraints must not depend on the index.
  void SetStep(int index, int64_t step) { steps_[index] = step; }

  // The polynomial at a position of the tile (none: its first), plus `offset`.
  loop::ExprPtr Emit(const math::Affine& poly, const Position& position = {},
                     int64_t offset = 0) const;
  // 0 <= poly < range, without the sides the index ranges imply; null where both are. `shift` is
  // added to the polynomial.
  loop::ExprPtr Condition(const math::RangeConstraint& constraint, int64_t shift = 0) const;
  // The same of the polynomial's value, which may be a vector.
  loop::ExprPtr Condition(const math::RangeConstraint& constraint,
                          const loop::ExprPtr& value) const;

 private:
  loop::ExprPtr EmitWithSizes(const math::Affine& poly, const Position& position,
                              int64_t offset) const;
  // What a constraint compares: its strides, which are steps of windows, stay literals.
  loop::ExprPtr EmitCompared(const math::RangeConstraint& constraint, int64_t shift) const;

  const poly::FlatContraction& flat_;
  const DataType index_type_;
  SizeArguments* const sizes_;  // null: all numbers are literals
  std::vector<loop::ExprPtr> values_;
  std::vector<std::optional<int64_t>> steps_;  // nothing: 1, at every size
};

// What the polynomial gains at a position.
int64_t ShiftAt(const math::Affine& poly, const Position& position);

// Some tensor is too large for 32-bit index arithmetic.
bool NeedsWideIndices(const poly::FlatContraction& flat);

}  // namespace tartan::lower
