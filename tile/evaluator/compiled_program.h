// SPDX-License-Identifier: Apache-2.0
// A program compiled for a device: executables, the ordered steps, and the memory plan. Immutable;
// shared by all executions.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hal/hal.h"
#include "proto/tile.pb.h"
#include "tile/codegen/dialect.h"
#include "tile/compiler/compiler.h"
#include "tile/compiler/kernel_list.h"
#include "tile/evaluator/host/host_program.h"
#include "tile/evaluator/kernel_library.h"
#include "tile/evaluator/memory_plan.h"
#include "tile/evaluator/stored_program.h"
#include "tile/lang/ast.h"

namespace tartan::evaluator {

struct CompilerProcesses;  // kernel_parts.h
class WrittenKernels;      // written_kernels.h

// Optional services for building kernels; null: not available.
struct BuildServices {
  KernelLibrary* library = nullptr;
  KernelLibrary::Disk disk = {};  // disk storage of the library
  const CompilerProcesses* processes = nullptr;
  compiler::KnownKernels* known = nullptr;
  WrittenKernels* written = nullptr;     // what earlier programs of the library were written of
  std::string written_key = {};          // what these texts depend on beside the kernels
  const lang::Function* tree = nullptr;  // the program's code, parsed
};

class CompiledProgram {
 public:
  // Compiles a program to kernel texts without building them; the result cannot be executed.
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> Plan(
      const proto::Program& program, const hal::DeviceInfo& info,
      const compiler::CompileOptions& options, const compiler::CompileHooks& hooks = {});

  // Parses, binds, compiles and builds.
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> Create(
      const proto::Program& program, hal::DevicePtr device, const codegen::Dialect& dialect,
      const compiler::CompileOptions& options, const compiler::CompileHooks& hooks = {});

  // Like Create, but takes the compiler's result from the store, or puts it there, under a key that
  // covers everything it depends on.
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> Restore(
      const proto::Program& program, hal::DevicePtr device, const codegen::Dialect& dialect,
      const compiler::CompileOptions& options, const compiler::CompileHooks& hooks,
      const ProgramStore& store, absl::string_view key, const BuildServices& means = {});

  // A program that the host computes without kernels. Null if `times` executions take longer than
  // `most_ms` or longer than compiling kernels. An infinite `most_ms` removes all limits: null only
  // if the host cannot compute the program. `list()` is empty. `tree` is the program's code,
  // parsed; null: the code is parsed.
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> OnHost(
      const proto::Program& program, hal::DevicePtr device, const compiler::CompileOptions& options,
      double most_ms, int64_t times = 1, const lang::Function* tree = nullptr);

  // The compiler's result of Create as bytes (SerializeProgram), not yet built by the device.
  static absl::StatusOr<std::string> Serialize(const proto::Program& program,
                                               const codegen::Dialect& dialect,
                                               const compiler::CompileOptions& options,
                                               const compiler::CompileHooks& hooks);
  // Builds these bytes; `source` has the format and options. InvalidArgument for other bytes.
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> BuildSerialized(
      absl::string_view bytes, const hal::ExecutableSource& source, hal::DevicePtr device);

  // Builds kernels that are generated already.
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> BuildPart(ProgramSource part,
                                                                          hal::DevicePtr device);
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> Build(
      compiler::KernelList list, hal::DevicePtr device, const codegen::Dialect& dialect);

  const compiler::KernelList& list() const { return list_; }
  // Null if the device computes the program.
  const HostProgram* host() const { return host_.get(); }
  const hal::DevicePtr& device() const { return device_; }
  // The executables built for this program, without those from a library.
  const std::vector<hal::ExecutablePtr>& executables() const { return executables_; }
  // One per kernel of the list; empty after Plan.
  const std::vector<BuiltKernel>& kernels() const { return kernels_; }
  double compile_ms() const { return compile_ms_; }
  // Returns whether no launch makes the driver compile: all kernels came from disk, or
  // CompileKernels (compile_kernels.h) has run.
  bool has_all_kernels() const { return has_all_kernels_; }
  void SetHasAllKernels() const { has_all_kernels_ = true; }
  int64_t launches_per_run() const;

  // Memory of one execution: a buffer's slot in the plan, or -1.
  struct Region {
    MemoryPlan plan;
    std::vector<int> slot;  // per buffer of list()
  };
  const Region& frame() const { return frame_; }
  // The buffers that executions use and that live as long as the program is loaded: constants, and
  // values computed from constants alone. In the order of list().
  const std::vector<int>& resident() const { return resident_; }
  int64_t resident_bytes() const { return resident_bytes_; }
  // Returns whether a constant has a memory object of its own. On CPUs large constants have one, so
  // that they can stay where they are, for example in a file.
  bool IsSeparate(int buffer) const { return is_separate_[static_cast<size_t>(buffer)]; }
  // Returns whether executions stream all of a separate constant in memory-bound matmuls with few
  // rows.
  bool IsStreamed(int buffer) const { return is_streamed_[static_cast<size_t>(buffer)]; }
  // Outputs in allocations of their own, whose memory can be lent to callers (lent_outputs.h).
  const std::vector<int>& lent_outputs() const { return lent_outputs_; }
  // Per kernel; kernels of one device with equal digests are equivalent.
  const std::vector<std::string>& kernel_digests() const { return kernel_digests_; }

 private:
  CompiledProgram() = default;
  absl::Status PlanBuffers(const hal::DeviceInfo& info);
  // Builds the kernels of a list whose buffers are planned.
  absl::Status BuildKernels(hal::DevicePtr device, hal::ExecutableSource source,
                            const BuildServices& means = {});

  compiler::KernelList list_;
  std::shared_ptr<const HostProgram> host_;
  hal::DevicePtr device_;
  std::vector<hal::ExecutablePtr> executables_;
  std::vector<BuiltKernel> kernels_;
  double compile_ms_ = 0;
  Region frame_;
  std::vector<int> resident_;
  int64_t resident_bytes_ = 0;
  std::vector<bool> is_separate_;
  std::vector<bool> is_streamed_;
  std::vector<int> lent_outputs_;
  std::vector<std::string> kernel_digests_;
  mutable std::atomic<bool> has_all_kernels_{false};
};

// --- For this folder (make_list.cc).

// Compiles a program, or each of its parts.
absl::StatusOr<compiler::KernelList> MakeList(const proto::Program& program,
                                              const compiler::CompileOptions& options,
                                              const compiler::CompileHooks& hooks,
                                              const lang::Function* tree = nullptr);

}  // namespace tartan::evaluator
