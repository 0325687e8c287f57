// SPDX-License-Identifier: Apache-2.0
// Kernel arguments that replace size-dependent constants, so that kernels of other sizes have the
// same text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tile/loop/build.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Allocates one argument per role. Two roles whose values happen to be equal have separate
// arguments, because they differ at other sizes.
class SizeArguments {
 public:
  explicit SizeArguments(DataType index_type) : index_type_(index_type) {}

  // The argument for a role (as RangeRole returns it). A role must have the same value in every
  // call.
  loop::ExprPtr Get(const std::string& role, int64_t value);

  // The argument for one constant of the kernel's expressions, of type float32 or of integers that
  // fit the index type. Each occurrence has its own argument.
  loop::ExprPtr GetNumber(const poly::ExprPtr& literal);

  // All arguments, in the order of their first request.
  const std::vector<loop::Size>& sizes() const { return sizes_; }

 private:
  DataType index_type_;
  std::vector<loop::Size> sizes_;
  std::map<std::string, size_t> positions_;               // by role
  std::map<const poly::Expr*, size_t> number_positions_;  // by constant
};

// The role of an index's range.
std::string RangeRole(int index);

// Returns whether kernels of other sizes may have another value for this constant operand. 0 and 1
// are simplified away, so they count only if they are known to be sizes.
bool MayDependOnSizes(ScalarOp op, const poly::Expr& operand, DataType index_type);

}  // namespace tartan::lower
