// SPDX-License-Identifier: Apache-2.0
// Memory of the host that the driver has pinned: a GPU copies to and from it by itself, five times
// as quickly as by way of the driver's own (H200: 51 GB/s for 10). To pin memory takes longer than
// to copy it, so what was let go of is kept for later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backend_opencl/device/opencl_api.h"
#include "hal/hal.h"

namespace tartan::opencl {

// Thread-safe. What it gives out may outlive it.
class PinnedMemory : public std::enable_shared_from_this<PinnedMemory> {
 public:
  static constexpr int64_t kLeast = 64 << 10;               // less is copied as quickly without
  static constexpr int64_t kMost = int64_t{2} << 30;        // that is in use, others have none
  static constexpr int64_t kMostKept = int64_t{256} << 20;  // that nobody uses

  PinnedMemory(cl_context context, cl_device_id device) : context_(context), device_(device) {}

  // Nothing (no owner) below kLeast, beyond kMost and where the driver has none.
  hal::HostMemory Take(int64_t bytes);
  int64_t kept_bytes() const;  // that nobody uses

 private:
  struct Block {
    Block(MemoryHandle memory, QueueHandle queue) noexcept
        : memory(std::move(memory)), queue(std::move(queue)) {}
    ~Block();

    MemoryHandle memory;
    QueueHandle queue;  // in which it was mapped
    void* data = nullptr;
    int64_t size = 0;
  };

  std::unique_ptr<Block> TakeKept(int64_t bytes);
  std::unique_ptr<Block> Make(int64_t bytes) const;
  void Return(std::unique_ptr<Block> block) noexcept;
  // One of those that are too much; null where there is none.
  std::unique_ptr<Block> TakeSurplus() noexcept;

  const cl_context context_;
  const cl_device_id device_;
  mutable std::mutex mutex_;
  int64_t used_bytes_ = 0;  // guarded by mutex_, as those below
  int64_t kept_bytes_ = 0;
  size_t block_count_ = 0;
  // The last one was let go of last. Has room for all blocks: to return one takes no memory.
  std::vector<std::unique_ptr<Block>> kept_;
};

}  // namespace tartan::opencl
