// SPDX-License-Identifier: Apache-2.0
// Built kernels that many programs of a device share: those whose sizes are arguments.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "hal/hal.h"

namespace tartan::evaluator {

// A kernel of an executable.
struct BuiltKernel {
  hal::ExecutablePtr executable;
  int entry_point = 0;
};

// Thread-safe: of two programs that want the same kernel the second waits while it is built.
class KernelLibrary {
 public:
  // Forgets all kernels when there are so many; programs keep those that they use.
  explicit KernelLibrary(size_t capacity = 2000) : capacity_(capacity) {}

  struct Result {
    std::vector<BuiltKernel> kernels;  // one for each of the source
    hal::ExecutablePtr built;          // those that were not known; null: all were
  };
  // The kernels of `source`, by their texts (which name them) and options. Those not known are
  // built as one executable.
  absl::StatusOr<Result> Get(hal::Device& device, const hal::ExecutableSource& source);

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::unordered_map<std::string, BuiltKernel> kernels_;
};

}  // namespace tartan::evaluator
