// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/deferred_moves.h"

#include <algorithm>
#include <cstring>

#include "backend_opencl/context/opencl_buffer.h"

namespace tartan::opencl {

bool MayMoveOnHost(const DeferredTransfer& transfer) {
  return HostPointer(transfer.buffer) != nullptr;
}

bool MayMoveOnHost(const DeferredCopy& copy) {
  return HostPointer(copy.from) != nullptr && HostPointer(copy.to) != nullptr;
}

bool MayMoveOnHost(const DeferredFill& fill) { return HostPointer(fill.buffer) != nullptr; }

void MoveOnHost(const DeferredTransfer& transfer) {
  uint8_t* const device = HostPointer(transfer.buffer) + transfer.offset;
  if (transfer.is_read) {
    std::memcpy(transfer.host, device, transfer.size);
  } else {
    std::memcpy(device, transfer.host, transfer.size);
  }
}

void MoveOnHost(const DeferredCopy& copy) {
  std::memmove(HostPointer(copy.to) + copy.to_offset, HostPointer(copy.from) + copy.from_offset,
               copy.size);
}

void MoveOnHost(const DeferredFill& fill) {
  uint8_t* const to = HostPointer(fill.buffer) + fill.offset;
  if (fill.pattern_size == 1) {
    std::memset(to, fill.pattern[0], fill.size);
    return;
  }
  for (int64_t done = 0; done < fill.size; done += fill.pattern_size) {
    std::memcpy(to + done, fill.pattern.data(), std::min(fill.pattern_size, fill.size - done));
  }
}

}  // namespace tartan::opencl
