// SPDX-License-Identifier: Apache-2.0
// Runs a kernel list on the host with the interpreter of the loop IR.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tile/base/host_tensor.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// `inputs` in the order of the program's inputs, constants among them.
absl::StatusOr<std::vector<HostTensor>> InterpretList(const KernelList& list,
                                                      absl::Span<const HostTensor> inputs);

}  // namespace tartan::compiler
