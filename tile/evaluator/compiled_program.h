// SPDX-License-Identifier: Apache-2.0
// A program compiled for a device: kernels, their executable and the memory plan. Immutable and
// shared by everything that runs it.
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

namespace tartan::evaluator {

struct CompilerProcesses;  // kernel_parts.h
class WrittenKernels;      // written_kernels.h

// Beside the device, what kernels are built with; null: without.
struct BuildMeans {
  KernelLibrary* library = nullptr;
  KernelLibrary::Disk disk = {};  // of the library
  const CompilerProcesses* processes = nullptr;
  compiler::KnownKernels* known = nullptr;
  WrittenKernels* written = nullptr;  // what earlier programs of the library were written of
  std::string written_key = {};       // what these texts depend on beside the kernels
};

class CompiledProgram {
 public:
  // What the compiler makes of a program for a device, without building the kernels: nothing can be
  // run.
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> Plan(
      const proto::Program& program, const hal::DeviceInfo& info,
      const compiler::CompileOptions& options, const compiler::CompileHooks& hooks = {});

  // Parses, binds, compiles.
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> Create(
      const proto::Program& program, hal::DevicePtr device, const codegen::Dialect& dialect,
      const compiler::CompileOptions& options, const compiler::CompileHooks& hooks = {});

  // The same, but what the compiler makes is taken from the store, or put there, under a key that
  // tells everything it depends on.
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> Restore(
      const proto::Program& program, hal::DevicePtr device, const codegen::Dialect& dialect,
      const compiler::CompileOptions& options, const compiler::CompileHooks& hooks,
      const ProgramStore& store, absl::string_view key, const BuildMeans& means = {});

  // For the host to compute, without any kernel: null where `times` runs of it take longer than
  // `most_ms`, or than kernels take to be compiled. `list()` is empty.
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> OnHost(
      const proto::Program& program, hal::DevicePtr device, const compiler::CompileOptions& options,
      double most_ms, int64_t times = 1);

  // What Create would have the device build, as bytes (SerializeProgram).
  static absl::StatusOr<std::string> Serialize(const proto::Program& program,
                                               const codegen::Dialect& dialect,
                                               const compiler::CompileOptions& options,
                                               const compiler::CompileHooks& hooks);
  // Builds that; `source` tells format and options. InvalidArgument for other bytes.
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> BuildSerialized(
      absl::string_view bytes, const hal::ExecutableSource& source, hal::DevicePtr device);

  // Builds what is made already.
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> BuildPart(ProgramSource part,
                                                                          hal::DevicePtr device);
  static absl::StatusOr<std::shared_ptr<const CompiledProgram>> Build(
      compiler::KernelList list, hal::DevicePtr device, const codegen::Dialect& dialect);

  const compiler::KernelList& list() const { return list_; }
  // Null where the device computes it.
  const HostProgram* host() const { return host_.get(); }
  const hal::DevicePtr& device() const { return device_; }
  // Those that were built for this program, and not taken from a library.
  const std::vector<hal::ExecutablePtr>& executables() const { return executables_; }
  // Per kernel of the list; empty after Plan.
  const std::vector<BuiltKernel>& kernels() const { return kernels_; }
  double compile_ms() const { return compile_ms_; }
  // No kernel is left that the driver may compile when it first runs: all come from the disk, or
  // CompileKernels (compile_kernels.h) has seen to it.
  bool has_all_kernels() const { return has_all_kernels_; }
  void SetHasAllKernels() const { has_all_kernels_ = true; }
  int64_t launches_per_run() const;

  // Where the buffers of one run lie: a buffer's slot in the plan, or -1.
  struct Region {
    MemoryPlan plan;
    std::vector<int> slot;  // per buffer of list()
  };
  const Region& frame() const { return frame_; }
  // The buffers that runs use of those that live as long as the program is loaded: constants and
  // what is computed from them alone, in the order of list().
  const std::vector<int>& resident() const { return resident_; }
  int64_t resident_bytes() const { return resident_bytes_; }
  // Whether a constant has a memory object of its own: on CPUs, those so large that they are worth
  // leaving where they are, perhaps in a file.
  bool IsSeparate(int buffer) const { return is_separate_[static_cast<size_t>(buffer)]; }
  // Whether runs read all of a separate constant for products of few rows, which take as long as
  // memory does.
  bool IsStreamed(int buffer) const { return is_streamed_[static_cast<size_t>(buffer)]; }
  // Outputs in allocations of their own, whose memory callers may be given (lent_outputs.h).
  const std::vector<int>& lent_outputs() const { return lent_outputs_; }
  // Per kernel: equal for kernels of one device that do the same.
  const std::vector<std::string>& kernel_digests() const { return kernel_digests_; }

 private:
  CompiledProgram() = default;
  absl::Status PlanBuffers(const hal::DeviceInfo& info);
  // Builds the kernels of a list whose buffers are planned.
  absl::Status BuildKernels(hal::DevicePtr device, hal::ExecutableSource source,
                            const BuildMeans& means = {});

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

}  // namespace tartan::evaluator
