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

// Returns the outputs for `inputs` in the order of the program's inputs, including constants.
absl::StatusOr<std::vector<HostTensor>> InterpretList(const KernelList& list,
                                                      absl::Span<const HostTensor> inputs);

// Fails the test unless both lists compute the same results, within the tolerance.
void ExpectSameResults(const KernelList& list, const KernelList& other,
                       absl::Span<const HostTensor> inputs, double tolerance);

// Fails the test unless the list's results for random inputs agree with the naive evaluator to
// 1e-5.
void ExpectNaiveResults(const TestProgram& program, const KernelList& list);

// Compiles the program. Fails the test unless it has `launches` launches and its results agree with
// the naive evaluator: to 1e-5, or to `half_tolerance` for float16.
void ExpectNaiveLaunches(const TestProgram& program, const CompileOptions& options,
                         absl::Span<const HostTensor> inputs, int launches, double half_tolerance);

}  // namespace tartan::compiler
