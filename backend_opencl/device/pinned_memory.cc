// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/pinned_memory.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tartan::opencl {
namespace {

// Rounds up to one of a few sizes, so that released blocks can be reused; wastes at most an eighth.
int64_t RoundedUp(int64_t bytes) {
  const int64_t step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes))) / 8;
  return (bytes + step - 1) / step * step;
}

}  // namespace

PinnedMemory::Block::~Block() {
  if (data == nullptr || IsDriverLost()) return;
  CallCl(clEnqueueUnmapMemObject, queue.get(), memory.get(), data, 0, nullptr, nullptr);
  CallCl(clFinish, queue.get());
}

hal::HostMemory PinnedMemory::Take(int64_t bytes) {
  if (bytes < kMinBytes || bytes > kMaxBytes) return {};
  const int64_t size = RoundedUp(bytes);
  std::unique_ptr<Block> block = TakeKept(size);
  if (block == nullptr) return {};
  auto* const data = static_cast<uint8_t*>(block->data);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    used_[data] = size;
  }
  // The last owner returns the block to the pool, or frees it if the pool is gone.
  const auto give_back = [pool = weak_from_this()](Block* used) {
    std::unique_ptr<Block> owned(used);
    if (const auto alive = pool.lock()) alive->Return(std::move(owned));
  };
  return {{data, static_cast<size_t>(bytes)}, std::shared_ptr<Block>(block.release(), give_back)};
}

int64_t PinnedMemory::kept_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return kept_bytes_;
}

bool PinnedMemory::IsUsed(const uint8_t* address) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto after = used_.upper_bound(address);
  if (after == used_.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return address - begin < size;
}

std::unique_ptr<PinnedMemory::Block> PinnedMemory::TakeKept(int64_t bytes) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (used_bytes_ + bytes > kMaxBytes) return nullptr;
    const auto fitting = std::find_if(kept_.rbegin(), kept_.rend(),
                                      [&](const auto& block) { return block->size == bytes; });
    if (fitting != kept_.rend()) {
      std::unique_ptr<Block> block = std::move(*fitting);
      kept_.erase(std::next(fitting).base());
      kept_bytes_ -= bytes;
      used_bytes_ += bytes;
      return block;
    }
    kept_.reserve(block_count_ + 1);
    ++block_count_;
    used_bytes_ += bytes;
  }
  std::unique_ptr<Block> block = Make(bytes);
  if (block == nullptr) {
    std::lock_guard<std::mutex> lock(mutex_);
    --block_count_;
    used_bytes_ -= bytes;
  }
  return block;
}

std::unique_ptr<PinnedMemory::Block> PinnedMemory::Make(int64_t bytes) const {
  cl_int error = CL_SUCCESS;
  MemoryHandle memory(CreateCl(&error, clCreateBuffer, context_,
                               CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                               static_cast<size_t>(bytes), nullptr));
  if (error != CL_SUCCESS) return nullptr;
  QueueHandle queue(CreateCl(&error, clCreateCommandQueue, context_, device_, 0));
  if (error != CL_SUCCESS) return nullptr;
  auto block = std::make_unique<Block>(std::move(memory), std::move(queue));
  block->data =
      CreateCl(&error, clEnqueueMapBuffer, block->queue.get(), block->memory.get(), CL_TRUE,
               CL_MAP_READ | CL_MAP_WRITE, 0, static_cast<size_t>(bytes), 0, nullptr, nullptr);
  if (error != CL_SUCCESS) return nullptr;
  block->size = bytes;
  return block;
}

void PinnedMemory::Return(std::unique_ptr<Block> block) noexcept {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    used_.erase(static_cast<const uint8_t*>(block->data));
    used_bytes_ -= block->size;
    kept_bytes_ += block->size;
    kept_.push_back(std::move(block));
  }
  // Blocks are freed without holding the lock.
  while (TakeSurplus() != nullptr) {
  }
}

std::unique_ptr<PinnedMemory::Block> PinnedMemory::TakeSurplus() noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  if (kept_bytes_ <= kMaxUnusedBytes) return nullptr;
  std::unique_ptr<Block> oldest = std::move(kept_.front());
  kept_.erase(kept_.begin());
  kept_bytes_ -= oldest->size;
  --block_count_;
  return oldest;
}

}  // namespace tartan::opencl
