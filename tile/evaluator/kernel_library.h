// SPDX-License-Identifier: Apache-2.0
// Dynamic-shape kernels (with sizes as arguments) that the programs of a device share.
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

// Thread-safe: if two programs request the same kernel, the second waits until it is built.
class KernelLibrary {
 public:
  // Drops all kernels when `capacity` is reached; programs keep the kernels that they use.
  explicit KernelLibrary(size_t capacity = 2000) : capacity_(capacity) {}

  // Disk storage for later processes: which executable contains each kernel. Null functions: none.
  struct Disk {
    ProgramStore store;
    std::string key;  // prefix of all keys in the store
    // Returns whether the driver has the compiled source on disk.
    std::function<bool(const hal::ExecutableSource&)> is_compiled;
  };
  // Builds the kernels at these positions of the source.
  using Build = std::function<absl::StatusOr<std::vector<BuiltKernel>>(const std::vector<int>&)>;
  // The kernels of `source`, keyed by their texts (including names) and options. `build` builds
  // those that are neither in this process nor on disk.
  absl::StatusOr<std::vector<BuiltKernel>> Get(hal::Device& device,
                                               const hal::ExecutableSource& source,
                                               const Disk& disk, const Build& build);

 private:
  using Kernels = std::unordered_map<std::string, BuiltKernel>;

  // Adds all kernels of the executable that contains this one, according to the disk.
  void Restore(hal::Device& device, const hal::ExecutableSource& source, const std::string& key,
               const Disk& disk);

  const size_t capacity_;
  std::mutex mutex_;
  Kernels kernels_;
};

}  // namespace tartan::evaluator
