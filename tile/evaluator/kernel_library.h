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
#include "tile/evaluator/stored_program.h"

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

  // What earlier processes have built: which executable each kernel is in. Null functions: nothing
  // is known of them.
  struct Disk {
    ProgramStore store;
    std::string key;  // begins all keys of the store
    // The driver need not compile the source.
    std::function<bool(const hal::ExecutableSource&)> is_compiled;
  };
  // Builds the kernels at these positions of the source.
  using Build = std::function<absl::StatusOr<std::vector<BuiltKernel>>(const std::vector<int>&)>;
  // The kernels of `source`, by their texts (which name them) and options. `build` makes those
  // that neither this process nor the disk has, if there are any.
  absl::StatusOr<std::vector<BuiltKernel>> Get(hal::Device& device,
                                               const hal::ExecutableSource& source,
                                               const Disk& disk, const Build& build);

 private:
  using Kernels = std::unordered_map<std::string, BuiltKernel>;

  // Adds the kernels of the executable that the disk has this one in.
  void Restore(hal::Device& device, const hal::ExecutableSource& source, const std::string& key,
               const Disk& disk);

  const size_t capacity_;
  std::mutex mutex_;
  Kernels kernels_;
};

}  // namespace tartan::evaluator
