// SPDX-License-Identifier: Apache-2.0
// What passes have in common that write a program anew, value by value.
#pragma once

#include <utility>
#include <vector>

#include "tile/ir/program.h"

namespace tartan::graph {

class Rewriter {
 public:
  // `original` must outlive the rewriter.
  explicit Rewriter(const ir::Program& original) : original_(original) {}

  // The values in the new program that stand for those of the original, so far.
  const std::vector<ir::ValueId>& numbers() const { return numbers_; }
  const ir::Value& value(ir::ValueId v) const { return result_.values[v]; }  // of the new program

  // Adds a value that stands for none of the original.
  ir::ValueId Append(ir::Value value);
  // Adds the value that stands for the next one of the original.
  void Replace(ir::Value value) { numbers_.push_back(Append(std::move(value))); }
  // The new program, once every value is replaced.
  ir::Program Finish() &&;

 private:
  const ir::Program& original_;
  ir::Program result_;
  std::vector<ir::ValueId> numbers_;
};

// The values that read each value, each once, in order.
std::vector<std::vector<ir::ValueId>> UsersOf(const ir::Program& program);

// A copy of a tensor, element by element: each index of both accesses is a variable of its own.
ir::Contraction IdentityCopy(ir::ValueId tensor, size_t rank);

}  // namespace tartan::graph
