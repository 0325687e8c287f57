// SPDX-License-Identifier: Apache-2.0
// Names for the contents of resident buffers: buffers of two programs on one device with equal
// names have equal contents. Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "tile/compiler/kernel_list.h"

namespace tartan::evaluator {

// `names`: per buffer of the list, the names of the constants. Returns them with names for the
// values that setup steps compute, derived from the kernels and their operands. `kernel_digests`
// has a digest per kernel of the list.
std::vector<std::string> ResidentNames(const compiler::KernelList& list,
                                       const std::vector<std::string>& kernel_digests,
                                       std::vector<std::string> names);

}  // namespace tartan::evaluator
