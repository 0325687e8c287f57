// SPDX-License-Identifier: Apache-2.0
// Built kernels that many programs of a device share: those whose sizes are arguments.
#pragma once

#include <cstddef>
#include <functional>
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

  // Builds the kernels at these positions of the source.
  using Build = std::function<absl::StatusOr<std::vector<BuiltKernel>>(const std::vector<int>&)>;
  // The kernels of `source`, by their texts (which name them) and options. `build` makes those
  // that are not known, if there are any.
  absl::StatusOr<std::vector<BuiltKernel>> Get(const hal::ExecutableSource& source,
                                               const Build& build);

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::unordered_map<std::string, BuiltKernel> kernels_;
};

}  // namespace tartan::evaluator
