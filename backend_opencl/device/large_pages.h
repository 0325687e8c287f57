// SPDX-License-Identifier: Apache-2.0
// Memory of the host for large buffers of CPU devices, in pages of 2 MiB where the system has them:
// taking memory in small pages costs as much as filling it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tartan::opencl {

// Zeros, which begin where a large page does.
class LargePages {
 public:
  static constexpr size_t kPageBytes = size_t{1} << 21;

  // Null for what is smaller than a page, and where the system has no such memory.
  static std::shared_ptr<const LargePages> Take(int64_t bytes);
  LargePages(const LargePages&) = delete;
  ~LargePages();

  void* data() const { return data_; }

 private:
  LargePages(void* data, size_t bytes) : data_(data), bytes_(bytes) {}

  void* const data_;
  const size_t bytes_;
};

}  // namespace tartan::opencl
