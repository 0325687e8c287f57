// SPDX-License-Identifier: Apache-2.0
// What a kernel keeps from launch to launch of a run (loop::Once).
#pragma once

#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// The parameters, by position, that Once reads, which are the same in all launches of a run; none:
// the kernel has no runs.
std::vector<int> KeptParameters(const Kernel& kernel);
// The names of the outputs that Fetch may find in local memory, each once.
std::vector<std::string> HandedOnOutputs(const Kernel& kernel);

// What is wrong with these statements of the kernel, or "".
std::string WhatIsWrongInRuns(const Kernel& kernel);

}  // namespace tartan::loop
