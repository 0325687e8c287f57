// SPDX-License-Identifier: Apache-2.0
// Builds the kernels of a program in parallel, in parts that several processes compile. A driver
// compiles on one thread, whatever the number of kernels.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hal/hal.h"
#include "proto/program.pb.h"
#include "tile/evaluator/kernel_library.h"
#include "tile/evaluator/stored_program.h"

namespace tartan::evaluator {

// Helper processes that compile into the disk cache.
struct CompilerProcesses {
  int count = 1;  // maximum processes that compile at once, including this one
  // Returns whether the source is on disk with all its kernels, so that the driver need not compile
  // it.
  std::function<bool(const hal::ExecutableSource&)> is_compiled;
  // Minimum kernels per process; fewer do not justify another one.
  int min_kernels = 4;
  // Builds all kernels of a program in this process, including compilation at the first launch.
  std::function<absl::StatusOr<hal::ExecutablePtr>(const ProgramSource& part)> compile_here;
  // Makes up to `wanted` other processes load their compilers before the first `start`; they stay
  // ready as long as the returned object lives. Null if not supported.
  std::function<std::shared_ptr<void>(int wanted)> prepare;
  // Starts to compile a program (as SerializeProgram bytes) in another process. Returns a function
  // that waits until that process is done, successful or not.
  std::function<std::function<void()>(const ProgramSource& part)> start;
};

// The program reduced to these kernels (ascending) and their launches.
ProgramSource PartOf(const ProgramSource& program, const std::vector<int>& kernels);

// The parts into which BuildKernelParts divides a program; one part if it does not.
std::vector<ProgramSource> SplitProgram(const ProgramSource& program,
                                        const CompilerProcesses& processes);

struct BuiltKernels {
  std::vector<BuiltKernel> kernels;             // one per kernel of the program
  std::vector<hal::ExecutablePtr> executables;  // the executables that contain them
  // True if no launch makes the driver compile.
  bool has_all_kernels = false;
};

// Returns an estimate of the other processes among which BuildKernelParts will divide a program
// that is not compiled yet.
int ExpectedProcesses(const proto::Program& program);

// Builds a program's kernels. Divides them into parts if several processes may compile and neither
// the program nor its parts are on disk. `processes` may be null.
absl::StatusOr<BuiltKernels> BuildKernelParts(const hal::DevicePtr& device,
                                              const ProgramSource& program,
                                              const CompilerProcesses* processes);

// Returns whether BuildKernelParts would have nothing to compile.
bool AreKernelsCompiled(const hal::ExecutableSource& source, const CompilerProcesses& processes);

}  // namespace tartan::evaluator
