// SPDX-License-Identifier: Apache-2.0
// Emits a kernel's index arithmetic as loop IR expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tile/loop/build.h"
#include "tile/lower/emit/index_builder.h"
#include "tile/lower/emit/size_arguments.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// A position in a register tile: the offset of each index from its value in `IndexEmitter`.
using Position = std::vector<int64_t>;

// Emits affine functions of the index variables of one kernel.
class IndexEmitter : public IndexBuilder {
 public:
  // `sizes`, if given, outlives the object; ranges, strides and offsets are then kernel arguments.
  // Only the tile's own numbers are constants: its sizes, positions in it, and strides of 1.
  IndexEmitter(const poly::FlatContraction& flat, DataType index_type,
               SizeArguments* sizes = nullptr)
      : IndexBuilder(index_type),
        flat_(flat),
        sizes_(sizes),
        values_(flat.indices.size()),
        steps_(flat.indices.size()) {}

  bool has_size_arguments() const { return sizes_ != nullptr; }
  // A value that follows from the kernel's sizes; `role` distinguishes it from others of the
  // kernel.
  loop::ExprPtr Size(const std::string& role, int64_t value) const {
    return sizes_ == nullptr ? Number(value) : sizes_->Get(role, value);
  }
  // The argument for a constant that may follow from sizes, such as a mean's divisor. Requires size
  // arguments, and float32 or an integer that fits the index type.
  loop::ExprPtr LiteralNumber(const poly::ExprPtr& literal) const {
    return sizes_->GetNumber(literal);
  }
  // Sets the expression for the current value of an index.
  void Set(int index, loop::ExprPtr value) { values_[index] = std::move(value); }
  const loop::ExprPtr& value(int index) const { return values_[index]; }
  // Sets the distance of positions along the index, in values, for kernels with size arguments; the
  // distance is an argument, too. Constraints must not depend on the index.
  void SetStep(int index, int64_t step) { steps_[index] = step; }

  // The affine function at a position of the tile (default: its first), plus `offset`.
  loop::ExprPtr Emit(const math::Affine& poly, const Position& position = {},
                     int64_t offset = 0) const;
  // 0 <= poly < range without the sides that the index ranges imply; null if they imply both.
  // `shift` is added to the polynomial.
  loop::ExprPtr Condition(const math::RangeConstraint& constraint, int64_t shift = 0) const;
  // The same condition for a given value of the polynomial, which may be a vector.
  loop::ExprPtr Condition(const math::RangeConstraint& constraint,
                          const loop::ExprPtr& value) const;
  // The condition that the constraints hold at every point from the current one to `last[i]` values
  // later along each index i.
  loop::ExprPtr HoldsAcross(const std::vector<math::RangeConstraint>& constraints,
                            const Position& last) const;

 private:
  loop::ExprPtr EmitWithSizes(const math::Affine& poly, const Position& position,
                              int64_t offset) const;
  // The left side of a constraint. Its small strides, which are steps of windows, stay constants.
  loop::ExprPtr EmitCompared(const math::RangeConstraint& constraint, int64_t shift) const;

  const poly::FlatContraction& flat_;
  SizeArguments* const sizes_;  // null: all values are constants
  std::vector<loop::ExprPtr> values_;
  std::vector<std::optional<int64_t>> steps_;  // nothing: 1, at every size
};

// The change of the polynomial from the tile's first position to `position`.
int64_t ShiftAt(const math::Affine& poly, const Position& position);

// Returns whether some tensor is too large for 32-bit index arithmetic.
bool NeedsWideIndices(const poly::FlatContraction& flat);

}  // namespace tartan::lower
