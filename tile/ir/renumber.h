// SPDX-License-Identifier: Apache-2.0
// Renumbering and removing the values of a program.
#pragma once

#include <vector>

#include "tile/ir/program.h"

namespace tartan::ir {

// Replaces every operand i of `op` by map[i].
void RenumberOperands(Op& op, const std::vector<ValueId>& map);

// Keeps inputs and what outputs need.
Program WithoutDeadValues(Program program);

}  // namespace tartan::ir
