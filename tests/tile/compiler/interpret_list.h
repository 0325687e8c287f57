// SPDX-License-Identifier: Apache-2.0
// Runs a kernel list on the host with the interpreter of the loop IR.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "tests/tile/compiler/programs.h"
#include "tile/base/host_tensor.h"
#include "tile/compiler/compile_options.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// `inputs` in the order of the program's inputs, constants among them.
absl::StatusOr<std::vector<HostTensor>> InterpretList(const KernelList& list,
                                                      absl::Span<const HostTensor> inputs);

// Fails the test unless both lists compute the same from the inputs, within the tolerance.
void ExpectSameResults(const KernelList& list, const KernelList& other,
                       absl::Span<const HostTensor> inputs, double tolerance);

// Fails the test unless the list computes what the definition of Tile says, to 1e-5, for random
// inputs.
void ExpectNaiveResults(const TestProgram& program, const KernelList& list);

// Compiles the program, and fails the test unless it is so many launches that compute from `inputs`
// what the definition of Tile says: to 1e-5, from float16 to `half_tolerance`.
void ExpectNaiveLaunches(const TestProgram& program, const CompileOptions& options,
                         absl::Span<const HostTensor> inputs, int launches, double half_tolerance);

}  // namespace tartan::compiler
