// SPDX-License-Identifier: Apache-2.0
// Readable texts of a partition and of a schedule, for the dumps of the passes that make them.
#pragma once

#include <string>

#include "tile/compiler/partition.h"
#include "tile/compiler/schedule.h"
#include "tile/ir/program.h"

namespace tartan::compiler {

// One line for each kernel: its form and the values that it computes.
std::string ToString(const ir::Program& program, const Partition& partition);

// One line for each step, with its plan, and the values that are rounded when they are stored.
std::string ToString(const ir::Program& program, const Schedule& schedule);

}  // namespace tartan::compiler
