// SPDX-License-Identifier: Apache-2.0
// Runs a kernel list on the host with the interpreter of the loop IR.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tests/tile/compiler/programs.h"
#include "tile/base/host_tensor.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// `inputs` in the order of the program's inputs, constants among them.
absl::StatusOr<std::vector<HostTensor>> InterpretList(const KernelList& list,
                                                      absl::Span<const HostTensor> inputs);

// Fails the test unless the list computes what the definition of Tile says, to 1e-5, for random
// inputs.
void ExpectNaiveResults(const TestProgram& program, const KernelList& list);

}  // namespace tartan::compiler
