// Compiled programs of one device by what was asked for.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "tile/evaluator/compiled_program.h"
#include "tile/evaluator/stored_program.h"
#include "tile/plan/plan_book.h"

namespace tartan::evaluator {

struct ProgramCacheStatistics {
  int64_t hits = 0;
  int64_t misses = 0;
};

// Thread-safe. The first to ask for a program compiles it while others who ask for the same wait;
// different programs compile side by side. The least recently used programs go first.
class ProgramCache {
 public:
  ProgramCache(hal::DevicePtr device, codegen::Dialect dialect, size_t capacity = 500)
      : device_(std::move(device)), dialect_(std::move(dialect)), capacity_(capacity) {}

  // A program equal in code, input shapes and input flags is compiled once for each
  // CompileOptions::winograd and in_float64. A failure is not kept.
  absl::StatusOr<std::shared_ptr<const CompiledProgram>> Get(const proto::Program& program);

  // Apply to programs compiled from now on.
  void SetOptions(compiler::CompileOptions options);
  compiler::CompileOptions options() const;
  // Plans that kernels are given instead of the cost model's choice, unless the options have a
  // planner. Programs that were compiled without them are compiled again when next asked for.
  void SetPlans(std::shared_ptr<const plan::PlanBook> plans);
  // Where what is compiled from now on is kept for later processes; programs with dumps or a
  // planner of the options' own are not.
  void SetStore(ProgramStore store);
  ProgramCacheStatistics statistics() const;

 private:
  struct Entry {
    std::mutex compiling;
    std::shared_ptr<const CompiledProgram> program;  // null until compiled
  };
  std::shared_ptr<Entry> Find(const std::string& key);
  // What a program is compiled with, and where it is kept: under a key that holds `key`.
  struct Request {
    compiler::CompileOptions options;
    ProgramStore store;
    std::string store_key;
  };
  Request RequestNow(const std::string& key) const;
  void Forget(const std::string& key, const std::shared_ptr<Entry>& entry);

  const hal::DevicePtr device_;
  const codegen::Dialect dialect_;
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::list<std::string> order_;  // most recently used first
  struct Slot {
    std::shared_ptr<Entry> entry;
    std::list<std::string>::iterator position;
  };
  std::unordered_map<std::string, Slot> slots_;
  compiler::CompileOptions options_;
  std::shared_ptr<const plan::PlanBook> plans_;  // may be null
  std::string plans_bytes_;
  ProgramStore store_;
  ProgramCacheStatistics statistics_;
};

}  // namespace tartan::evaluator
