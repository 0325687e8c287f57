// SPDX-License-Identifier: Apache-2.0
// Cache of compiled programs of one device, keyed by program and compile options.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tile/compiler/known_kernels.h"
#include "tile/evaluator/compiled_program.h"
#include "tile/evaluator/kernel_parts.h"
#include "tile/evaluator/stored_program.h"
#include "tile/evaluator/written_kernels.h"

namespace tartan::evaluator {

struct ProgramCacheStatistics {
  int64_t hits = 0;
  int64_t misses = 0;
};

// The kernels of a program as text, for people to read.
struct PlannedProgram {
  std::shared_ptr<const CompiledProgram> program;  // from CompiledProgram::Plan; cannot be executed
  std::vector<std::string> sources;                // of the kernels, in the order of the list
};

// Thread-safe. The first request for a program compiles it while equal requests wait; different
// programs compile in parallel. Programs are evicted in LRU order.
class ProgramCache {
 public:
  // The dialect in which kernels for a device with these settings are written.
  using DialectFor = codegen::Dialect (*)(const HardwareSettings& settings);

  ProgramCache(hal::DevicePtr device, DialectFor dialect, size_t capacity = 500)
      : device_(std::move(device)), dialect_(dialect), capacity_(capacity) {}

  // Programs with equal code, input shapes, input flags and options are compiled once. The settings
  // in `options` are replaced by the device's: measured ones for the exact (shape-specialised)
  // tier, which may measure now, and the compiler's own for the ready (dynamic-shape) tier.
  // Failures are not cached. With hooks the disk store is not used; with a planner this cache is
  // not used either. `tree` is the program's code, parsed; null: the code is parsed.
  absl::StatusOr<std::shared_ptr<const CompiledProgram>> Get(
      const proto::Program& program, compiler::CompileOptions options = {},
      const compiler::CompileHooks& hooks = {}, const lang::Function* tree = nullptr);

  // Like Get, but never compiles and never waits for a compilation. Returns the program if it is
  // cached with all its kernels. Also returns it if it is in the store, and `is_compiled` confirms
  // that the driver need not compile its source. Null otherwise.
  std::shared_ptr<const CompiledProgram> GetIfCompiled(
      const proto::Program& program, compiler::CompileOptions options,
      const compiler::CompileHooks& hooks,
      const std::function<bool(const hal::ExecutableSource&)>& is_compiled);

  // Like Get, for computation by the host (CompiledProgram::OnHost). Null if kernels should compute
  // it, or with hooks. Waits for no compilation and no measurement.
  absl::StatusOr<std::shared_ptr<const CompiledProgram>> GetOnHost(
      const proto::Program& program, const compiler::CompileOptions& options,
      const compiler::CompileHooks& hooks, double most_ms, int64_t times,
      const lang::Function* tree = nullptr);

  // The kernel sources of the program, in parts for several processes. Taken from the store, or
  // generated and stored; FailedPrecondition if the store does not keep them.
  absl::StatusOr<std::vector<ProgramSource>> GetParts(const proto::Program& program,
                                                      compiler::CompileOptions options,
                                                      const compiler::CompileHooks& hooks);

  // Generates anew what Get would build; the result is not cached.
  absl::StatusOr<PlannedProgram> Plan(const proto::Program& program,
                                      compiler::CompileOptions options,
                                      const compiler::CompileHooks& hooks);

  // Sets helper processes for compilation.
  void SetProcesses(CompilerProcesses processes);
  // Sets the disk store for programs compiled from now on.
  void SetStore(ProgramStore store);
  ProgramCacheStatistics statistics() const;

 private:
  struct Entry {
    std::mutex compiling;
    std::shared_ptr<const CompiledProgram> program;  // null until compiled
  };
  std::shared_ptr<Entry> Find(const std::string& key);
  // Null if the program was never requested.
  std::shared_ptr<Entry> FindRequested(const std::string& key);
  // No helper processes if there is no disk store.
  CompilerProcesses Processes(const compiler::CompileHooks& hooks) const;
  // The disk store; none if this build has no identity.
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
  // The next three serve the ready tier (dynamic-shape kernels).
  KernelLibrary library_;
  compiler::KnownKernels known_;
  WrittenKernels written_;
  CompilerProcesses processes_;
  ProgramCacheStatistics statistics_;
};

}  // namespace tartan::evaluator
