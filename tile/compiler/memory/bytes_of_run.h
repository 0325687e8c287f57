// SPDX-License-Identifier: Apache-2.0
// How much memory a run of a program touches, and whether a cache holds it.
#pragma once

#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/compiler/partition.h"
#include "tile/ir/program.h"

namespace tartan::compiler {

// Bytes of all values that the kernels of a run read or write, each once; what is done at load
// counts for its results alone. `is_constant`: of each value of `program`.
double BytesOfRun(const ir::Program& program, const std::vector<bool>& is_constant,
                  const Partition& partition);

// Whether all of that stays in the second cache until the next run; false where no plan depends on
// it: on devices that read several streams from there as quickly as one.
bool StaysInCache(const ir::Program& program, const std::vector<bool>& is_constant,
                  const Partition& partition, const HardwareSettings& settings);

}  // namespace tartan::compiler
