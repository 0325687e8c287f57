// SPDX-License-Identifier: Apache-2.0
// Writes the next values of states in place. States are caller-owned inputs that a run updates,
// such as parameters and optimizer averages in training, or a decoder's cache.
#pragma once

#include "absl/types/span.h"
#include "tile/compiler/kernel_list.h"
#include "tile/ir/program.h"

namespace tartan::compiler {

// Returns whether the program updates states.
bool HasStates(const ir::Program& program);

// `next`: per input of the list, the output that is its next value, or -1.
// Afterwards the steps leave each next value in the state's buffer, and that buffer is the output.
//
// - The kernel that computes the next value writes to the state directly if no later step needs the
//   old value. The kernel moves after other readers if dependencies allow it. It may read an
//   element only in the work-item that writes it.
// - A scatter into a copy of the state writes into the state directly.
// - In all other cases a copy at the end of the run updates the state.
//
// Other outputs that return a state return its old value.
void UpdateInPlace(absl::Span<const int> next, KernelList* list);

}  // namespace tartan::compiler
