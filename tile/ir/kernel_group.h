// SPDX-License-Identifier: Apache-2.0
// Which values of a program one kernel computes. Made by graph::GroupIntoKernels, read by
// poly::BuildKernel.
#pragma once

#include <set>
#include <variant>
#include <vector>

#include "tile/ir/program.h"

namespace tartan::ir {

struct KernelGroup {
  // The contraction aggregated by this kernel, or the special operation it consists of; kNoValue
  // for a kernel of elementwise and element-moving operations only.
  ValueId root = kNoValue;
  // The values it stores, all with as many elements as its iteration space, or one that is moved:
  // a piece of a concatenation, of which it writes a part, or a permutation of its dimensions.
  std::vector<ValueId> outputs;

  // The output is such a piece or permutation, whose root computes what is put there.
  bool writes_piece(const Program& program) const {
    return root != kNoValue && outputs.front() != root &&
           std::holds_alternative<Contraction>(program.values[outputs.front()].op);
  }

  bool operator==(const KernelGroup&) const = default;
};

// A whole program divided into kernels, in an order in which they can run.
struct Grouping {
  std::vector<KernelGroup> groups;
  // For every value: it lives in memory (an input, an output of a group, or a reshape of one).
  // Others are computed where they are used.
  std::vector<bool> in_memory;
  // For a value in memory: the input or group output that holds its elements, itself unless it is
  // a reshape, or a piece of a concatenation, which is written into the whole. kNoValue for values
  // not in memory.
  std::vector<ValueId> storage;
  // Values whose kernel writes a part of their elements, and nothing is to be put into the others
  // before: other kernels write those into the same memory.
  std::set<ValueId> written_in_parts;
};

}  // namespace tartan::ir
