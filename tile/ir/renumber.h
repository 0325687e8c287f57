// SPDX-License-Identifier: Apache-2.0
// Renumbers and removes values of a program.
#pragma once

#include <vector>

#include "tile/ir/program.h"

namespace tartan::ir {

// Replaces every operand i of `op` by map[i].
void RenumberOperands(Op& op, const std::vector<ValueId>& map);

// Removes values that are neither inputs nor needed by outputs.
Program WithoutDeadValues(Program program);

}  // namespace tartan::ir
