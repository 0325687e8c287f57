// SPDX-License-Identifier: Apache-2.0
// Allocates host memory for large buffers of CPU devices in huge pages (2 MiB) if the system
// supports them. Page faults of small pages cost as much as filling the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tartan::opencl {

// Zero-initialized memory that starts at a huge page boundary.
class HugePages {
 public:
  static constexpr size_t kPageBytes = size_t{1} << 21;

  // Returns null for sizes below one page, and if the system has no such memory.
  static std::shared_ptr<const HugePages> Take(int64_t bytes);
  HugePages(const HugePages&) = delete;
  ~HugePages();

  void* data() const { return data_; }

 private:
  HugePages(void* data, size_t bytes) : data_(data), bytes_(bytes) {}

  void* const data_;
  const size_t bytes_;
};

}  // namespace tartan::opencl
