// SPDX-License-Identifier: Apache-2.0
// The kernels of a program built in parts, most of them by other processes: drivers compile on one
// thread however many there are.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hal/hal.h"
#include "tile/evaluator/kernel_library.h"
#include "tile/evaluator/stored_program.h"

namespace tartan::evaluator {

// Other processes that compile into the disk cache.
struct CompilerProcesses {
  int count = 1;  // that may compile at once, this one among them
  // The driver need not compile the source: it is on the disk, with all its kernels.
  std::function<bool(const hal::ExecutableSource&)> is_compiled;
  // How few kernels are not worth another process.
  int least_kernels = 4;
  // Builds all kernels of a program here, as far as compiling them when they first run.
  std::function<absl::StatusOr<hal::ExecutablePtr>(const ProgramSource& part)> compile_here;
  // Has others load their compilers ahead of the first `start`, for as long as what is returned is
  // kept. Null where they cannot.
  std::function<std::shared_ptr<void>()> prepare;
  // Begins to compile a program (its bytes are those of SerializeProgram) in another process, and
  // returns what waits until it is done, however that ended.
  std::function<std::function<void()>(const ProgramSource& part)> start;
};

// The program of these kernels (ascending) and their launches alone.
ProgramSource PartOf(const ProgramSource& program, const std::vector<int>& kernels);

// The parts that BuildKernelParts makes of a program; one where it makes none.
std::vector<ProgramSource> SplitProgram(const ProgramSource& program,
                                        const CompilerProcesses& processes);

struct BuiltKernels {
  std::vector<BuiltKernel> kernels;             // one for each of the program
  std::vector<hal::ExecutablePtr> executables;  // that hold them
  // No kernel is left that the driver may compile when it first runs.
  bool has_all_kernels = false;
};

// Builds a program's kernels, in parts where that is sooner: where several processes may compile,
// and the disk has neither the program nor its parts. `processes` may be null.
absl::StatusOr<BuiltKernels> BuildKernelParts(const hal::DevicePtr& device,
                                              const ProgramSource& program,
                                              const CompilerProcesses* processes);

// BuildKernelParts would have nothing to compile.
bool AreKernelsCompiled(const hal::ExecutableSource& source, const CompilerProcesses& processes);

}  // namespace tartan::evaluator
