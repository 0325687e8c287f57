// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/context/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include "backend_opencl/api/driver_failure.h"

namespace tartan::opencl {

std::shared_ptr<const HugePages> HugePages::Take(int64_t bytes) {
  if (bytes < static_cast<int64_t>(kPageBytes)) return nullptr;
#ifdef MADV_HUGEPAGE
  const auto small = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = (static_cast<size_t>(bytes) + small - 1) / small * small;
  const size_t mapped = size + kPageBytes;
  void* const begin =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) return nullptr;
  // Unmaps the parts before the first huge page boundary and after the memory.
  auto* const first = static_cast<uint8_t*>(begin);
  const size_t before = (kPageBytes - reinterpret_cast<uintptr_t>(begin) % kPageBytes) % kPageBytes;
  if (before > 0) munmap(first, before);
  if (const size_t behind = mapped - before - size; behind > 0) {
    munmap(first + before + size, behind);
  }
  madvise(first + before, size, MADV_HUGEPAGE);
  return std::shared_ptr<const HugePages>(new HugePages(first + before, size));
#else
  return nullptr;
#endif
}

HugePages::~HugePages() {
  // Threads of a lost driver may still write to the memory.
  if (!IsDriverLost()) munmap(data_, bytes_);
}

}  // namespace tartan::opencl
