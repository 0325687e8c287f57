// SPDX-License-Identifier: Apache-2.0
// A product and elementwise work on several of its results as one launch: the gates of a recurrent
// network and its next states.
#pragma once

#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/compiler/schedule.h"
#include "tile/ir/program.h"

namespace tartan::compiler {

// Where an elementwise launch alone reads the results of a reduction, several for each of its
// elements, it computes them itself (poly/join_sums.h) if that is predicted to take less time. On
// devices whose work-items are lanes (GPUs). `storage`: of the program's values, which one holds
// their elements.
void JoinSums(const ir::Program& program, const std::vector<ir::ValueId>& storage,
              const HardwareSettings& settings, Schedule* schedule);

}  // namespace tartan::compiler
