// SPDX-License-Identifier: Apache-2.0
// What the buffers hold that live as long as a program is loaded, as names: equal names of buffers
// of two programs for one device stand for equal contents. Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "tile/compiler/kernel_list.h"

namespace tartan::evaluator {

// `names`: per buffer of the list, those of the constants. Returns them with names for what the
// setup steps compute: of the kernels that make it and of all they read. `kernel_digests` has those
// of the list's kernels.
std::vector<std::string> ResidentNames(const compiler::KernelList& list,
                                       const std::vector<std::string>& kernel_digests,
                                       std::vector<std::string> names);

}  // namespace tartan::evaluator
