// SPDX-License-Identifier: Apache-2.0
// Helper for passes that rebuild a program value by value.
#pragma once

#include <utility>
#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

class Rewriter {
 public:
  // `original` must outlive the rewriter.
  explicit Rewriter(const ir::Program& original) : original_(original) {}

  // New numbers of the original values replaced so far.
  const std::vector<ir::ValueId>& numbers() const { return numbers_; }
  const ir::Value& value(ir::ValueId v) const { return result_.values[v]; }  // of the new program

  // Adds a value that replaces no original value.
  ir::ValueId Append(ir::Value value);
  // Adds the replacement of the next original value.
  void Replace(ir::Value value) { numbers_.push_back(Append(std::move(value))); }
  // Lets a value of the new program replace the next original value.
  void ReplaceBy(ir::ValueId v) { numbers_.push_back(v); }
  // Returns the new program. Requires that every original value is replaced.
  ir::Program Finish() &&;

 private:
  const ir::Program& original_;
  ir::Program result_;
  std::vector<ir::ValueId> numbers_;
};

// Returns the users of each value, each once, in program order.
std::vector<std::vector<ir::ValueId>> UsersOf(const ir::Program& program);

// Returns an element-by-element copy of a tensor: one index per dimension.
ir::Contraction IdentityCopy(ir::ValueId tensor, size_t rank);

}  // namespace tartan::graph
