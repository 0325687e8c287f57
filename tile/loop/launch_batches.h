// SPDX-License-Identifier: Apache-2.0
// Analysis of state that a kernel keeps across consecutive launches of a batch (loop::Once).
#pragma once

#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"

namespace tartan::loop {

// The parameters, by position, that Once reads. They must be the same in all launches of the batch.
// Empty: the kernel keeps nothing.
std::vector<int> PersistentParameters(const Kernel& kernel);
// The distinct names of outputs that Fetch may find in local memory.
std::vector<std::string> ForwardedOutputs(const Kernel& kernel);

// The reason why the kernel's Once and Fetch statements are invalid, or "".
std::string ReasonInvalidBatch(const Kernel& kernel);

}  // namespace tartan::loop
