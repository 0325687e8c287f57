// SPDX-License-Identifier: Apache-2.0
// Bytes that one execution of a program touches, and whether the L2 cache holds all of them.
#pragma once

#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/compiler/partition.h"
#include "tile/ir/program.h"

namespace tartan::compiler {

// Bytes of all values that the kernels of a run read or write, each counted once. Of setup steps,
// only the results count. `is_constant`: per value of `program`.
double BytesOfRun(const ir::Program& program, const std::vector<bool>& is_constant,
                  const Partition& partition);

// Returns true if all these bytes stay in the L2 cache until the next run. Returns false on devices
// where no plan depends on it, because reading several streams from L2 is as fast as reading one.
bool StaysInCache(const ir::Program& program, const std::vector<bool>& is_constant,
                  const Partition& partition, const HardwareSettings& settings);

}  // namespace tartan::compiler
