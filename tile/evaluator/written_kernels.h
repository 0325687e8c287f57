// SPDX-License-Identifier: Apache-2.0
// Texts of kernels that many programs of a device share: those whose sizes are arguments.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"
#include "tile/codegen/write_kernel.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::evaluator {

// A kernel as it was written.
struct WrittenKernel {
  codegen::KernelText text;
  std::vector<int> kept;  // as in hal::KernelSource
};

// Thread-safe. The name of a ready kernel is a digest of its loops, so a name has one text. A
// kernel that compares its accesses was changed after it was named, and is not kept.
class WrittenKernels {
 public:
  // It forgets all kernels when it has `capacity` of them.
  explicit WrittenKernels(size_t capacity = 2000) : capacity_(capacity) {}

  // The kernel's text in this dialect, which `settings` has made: programs of other settings share
  // none.
  std::shared_ptr<const WrittenKernel> Get(const loop::Kernel& kernel,
                                           const codegen::Dialect& dialect,
                                           absl::string_view settings);

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const WrittenKernel>> kernels_;
};

// Writes the kernel and keeps nothing.
std::shared_ptr<const WrittenKernel> WriteOne(const loop::Kernel& kernel,
                                              const codegen::Dialect& dialect);

}  // namespace tartan::evaluator
