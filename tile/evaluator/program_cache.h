// SPDX-License-Identifier: Apache-2.0
// Compiled programs of one device by what was asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tile/compiler/launches/known_kernels.h"
#include "tile/evaluator/compiled_program.h"
#include "tile/evaluator/kernel_parts.h"
#include "tile/evaluator/stored_program.h"
#include "tile/evaluator/written_kernels.h"

namespace tartan::evaluator {

struct ProgramCacheStatistics {
  int64_t hits = 0;
  int64_t misses = 0;
};

// What would be built, for people to read.
struct PlannedProgram {
  std::shared_ptr<const CompiledProgram> program;  // of CompiledProgram::Plan: cannot be run
  std::vector<std::string> sources;                // of its kernels, in the order of its list
};

// Thread-safe. The first to ask for a program compiles it while others who ask for the same wait;
// different programs compile side by side. The least recently used programs go first.
class ProgramCache {
 public:
  // How the kernels of a device with such settings are written.
  using DialectFor = codegen::Dialect (*)(const HardwareSettings& settings);

  ProgramCache(hal::DevicePtr device, DialectFor dialect, size_t capacity = 500)
      : device_(std::move(device)), dialect_(dialect), capacity_(capacity) {}

  // A program equal in code, input shapes and input flags is compiled once for equal options, whose
  // settings are replaced by the device's: what was measured for the exact tier, which may measure
  // it now, and what its compiler says for the ready one. A failure is not kept. With hooks nothing
  // is taken from the store or kept there; with a planner nothing is taken from this cache either.
  absl::StatusOr<std::shared_ptr<const CompiledProgram>> Get(
      const proto::Program& program, compiler::CompileOptions options = {},
      const compiler::CompileHooks& hooks = {});

  // The same as far as nothing has to be compiled for it: the program is here with all its kernels,
  // or in the store, and `is_compiled` says of its source that the driver need not compile it. Null
  // otherwise; never waits for a compilation.
  std::shared_ptr<const CompiledProgram> GetIfCompiled(
      const proto::Program& program, compiler::CompileOptions options,
      const compiler::CompileHooks& hooks,
      const std::function<bool(const hal::ExecutableSource&)>& is_compiled);

  // The same for the host to compute (CompiledProgram::OnHost); null where kernels are to do it,
  // and with hooks. Waits for no compilation and for nothing that is to be known of the device.
  absl::StatusOr<std::shared_ptr<const CompiledProgram>> GetOnHost(
      const proto::Program& program, const compiler::CompileOptions& options,
      const compiler::CompileHooks& hooks, double most_ms, int64_t times);

  // What the device would build for it, in parts for several processes. From the store or made,
  // and kept there; FailedPrecondition where that is not possible.
  absl::StatusOr<std::vector<ProgramSource>> GetParts(const proto::Program& program,
                                                      compiler::CompileOptions options,
                                                      const compiler::CompileHooks& hooks);

  // What Get builds, made again and not kept.
  absl::StatusOr<PlannedProgram> Plan(const proto::Program& program,
                                      compiler::CompileOptions options,
                                      const compiler::CompileHooks& hooks);

  // Other processes that help compiling.
  void SetProcesses(CompilerProcesses processes);
  // Where what is compiled from now on is kept for later processes.
  void SetStore(ProgramStore store);
  ProgramCacheStatistics statistics() const;

 private:
  struct Entry {
    std::mutex compiling;
    std::shared_ptr<const CompiledProgram> program;  // null until compiled
  };
  std::shared_ptr<Entry> Find(const std::string& key);
  // Null where nobody has asked for it.
  std::shared_ptr<Entry> FindAskedFor(const std::string& key);
  // None where nothing is kept on disk.
  CompilerProcesses Processes(const compiler::CompileHooks& hooks) const;
  // Where a program is kept; nowhere without an identity of this build.
  ProgramStore StoreFor(const compiler::CompileHooks& hooks) const;
  void Forget(const std::string& key, const std::shared_ptr<Entry>& entry);

  const hal::DevicePtr device_;
  const DialectFor dialect_;
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::list<std::string> order_;  // most recently used first
  struct Slot {
    std::shared_ptr<Entry> entry;
    std::list<std::string>::iterator position;
  };
  std::unordered_map<std::string, Slot> slots_;
  ProgramStore store_;
  // These three serve the ready tier.
  KernelLibrary library_;
  compiler::KnownKernels known_;
  WrittenKernels written_;
  CompilerProcesses processes_;
  ProgramCacheStatistics statistics_;
};

}  // namespace tartan::evaluator
