// SPDX-License-Identifier: Apache-2.0
// Numbers of a kernel that are arguments instead of literals, so that kernels of other sizes have
// the same text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tile/loop/build.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Hands out one argument for each role that a number has: where two roles happen to have one value,
// kernels of other sizes have two.
class SizeArguments {
 public:
  explicit SizeArguments(DataType index_type) : index_type_(index_type) {}

  // The argument for a role (as RangeRole gives it), which has the same value whenever it is asked
  // for.
  loop::ExprPtr Get(const std::string& role, int64_t value);

  // The argument for a literal of the kernel's expressions, of type float32 or of integers that the
  // index type holds, in each place that has it.
  loop::ExprPtr GetNumber(const poly::ExprPtr& literal);

  // All of them, in the order in which they were first asked for.
  const std::vector<loop::Size>& sizes() const { return sizes_; }

 private:
  DataType index_type_;
  std::vector<loop::Size> sizes_;
  std::map<std::string, size_t> positions_;               // by role
  std::map<const poly::Expr*, size_t> number_positions_;  // by literal
};

// The role of an index's range.
std::string RangeRole(int index);

// True if kernels of other sizes may have another value for this literal operand. 0 and 1 are
// simplified, so a literal of these values counts only if it is known to be a size.
bool MayFollowFromSizes(ScalarOp op, const poly::Expr& operand, DataType index_type);

}  // namespace tartan::lower
