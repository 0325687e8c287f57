// SPDX-License-Identifier: Apache-2.0
// Two products of one factor on a matrix unit as one launch: a gate and what it multiplies.
#pragma once

#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/compiler/schedule.h"
#include "tile/ir/program.h"

namespace tartan::compiler {

// Where the results of one product are read by another one alone, each at its own place, both sums
// are made by one kernel (plan/matrix/matrix_pair.h). `storage`: of the program's values, which one
// holds their elements.
void PairProducts(const ir::Program& program, const std::vector<ir::ValueId>& storage,
                  const HardwareSettings& settings, Schedule* schedule);

}  // namespace tartan::compiler
