// SPDX-License-Identifier: Apache-2.0
// Simplified kernels of the ready tier are kept for later programs. A program of new sizes has
// mostly the kernels of the last one, because their sizes are arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "tile/loop/loop_ir.h"

namespace tartan::compiler {

struct SimplifiedKernel {
  loop::Kernel lowered;  // without names, comments of its heading, and values of sizes
  loop::StmtPtr body;    // simplified
  std::string text;      // of the simplified kernel without names: equal for equal kernels
  std::string name;      // of a kernel of many programs: a digest of the text
};

std::shared_ptr<const SimplifiedKernel> SimplifyKernel(const loop::Kernel& lowered);

// Thread-safe.
class KnownKernels {
 public:
  // It forgets all kernels when it has `capacity` of them.
  explicit KnownKernels(size_t capacity = 500) : capacity_(capacity) {}

  // SimplifyKernel, once for kernels that differ in names and in values of sizes alone.
  std::shared_ptr<const SimplifiedKernel> Get(const loop::Kernel& lowered);

 private:
  using Kernels = std::unordered_multimap<uint64_t, std::shared_ptr<const SimplifiedKernel>>;

  std::shared_ptr<const SimplifiedKernel> Find(uint64_t hash, const loop::Kernel& form) const;

  const size_t capacity_;
  std::mutex mutex_;
  Kernels kernels_;  // by the hash of the lowered body
};

}  // namespace tartan::compiler
