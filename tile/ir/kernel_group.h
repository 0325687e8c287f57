// SPDX-License-Identifier: Apache-2.0
// Fusion groups: which values of a program each kernel computes. Created by
// graph::GroupIntoKernels, used by poly::BuildKernel.
#pragma once

#include <set>
#include <variant>
#include <vector>

#include "tile/ir/program.h"

namespace tartan::ir {

struct KernelGroup {
  // The contraction or special operation of this kernel; kNoValue if it has only elementwise and
  // view operations.
  ValueId root = kNoValue;
  // The values that the kernel stores. Each has as many elements as the iteration space, or is a
  // single moved value: a part of an in-place concatenation, or a permutation of dimensions.
  std::vector<ValueId> outputs;

  // Returns whether the output is such a part or permutation of the root's value.
  bool writes_piece(const Program& program) const {
    return root != kNoValue && outputs.front() != root &&
           std::holds_alternative<Contraction>(program.values[outputs.front()].op);
  }

  bool operator==(const KernelGroup&) const = default;
};

// The division of a program into kernels, in a valid order of execution.
struct Grouping {
  std::vector<KernelGroup> groups;
  // Per value: whether it is in memory (an input, an output of a group, or a reshape of one). Other
  // values are computed where they are used.
  std::vector<bool> in_memory;
  // For a value in memory, the input or group output that contains its elements. It is the value
  // itself, unless that is a reshape, or a part of an in-place concatenation. kNoValue for values
  // not in memory.
  std::vector<ValueId> storage;
  // Values of which each kernel writes only a part, without initialization of the rest: other
  // kernels write the other parts of the same memory.
  std::set<ValueId> written_by_parts;
  // Values of this 16-bit type are rounded where they are stored, and keep the precision of float32
  // inside a kernel (excess precision). kInvalid: all values are rounded.
  DataType rounded_in_memory = DataType::kInvalid;

  // Returns whether the kernel that computes a value of a 16-bit type rounds it.
  bool rounds(ValueId value, DataType type) const {
    return in_memory[value] || type != rounded_in_memory;
  }
};

}  // namespace tartan::ir
