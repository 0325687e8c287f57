// SPDX-License-Identifier: Apache-2.0
// Transfers, copies and fills of buffers that the host can execute without the driver, because it
// knows the buffers' addresses.
#pragma once

#include <array>
#include <cstdint>

#include "hal/hal.h"

namespace tartan::opencl {

struct DeferredTransfer {
  hal::BufferPtr buffer;
  int64_t offset = 0;
  uint8_t* host = nullptr;
  int64_t size = 0;
  bool is_read = false;
};

struct DeferredCopy {
  hal::BufferPtr from;
  int64_t from_offset = 0;
  hal::BufferPtr to;
  int64_t to_offset = 0;
  int64_t size = 0;
};

struct DeferredFill {
  hal::BufferPtr buffer;
  int64_t offset = 0;
  int64_t size = 0;
  std::array<uint8_t, 8> pattern = {};
  int64_t pattern_size = 1;
};

// Returns whether the host knows the addresses.
bool MayMoveOnHost(const DeferredTransfer& transfer);
bool MayMoveOnHost(const DeferredCopy& copy);
bool MayMoveOnHost(const DeferredFill& fill);

// Requires MayMoveOnHost, and that no command on the buffers is in flight.
void MoveOnHost(const DeferredTransfer& transfer);
void MoveOnHost(const DeferredCopy& copy);
void MoveOnHost(const DeferredFill& fill);

}  // namespace tartan::opencl
