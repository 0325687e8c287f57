// SPDX-License-Identifier: Apache-2.0
// Shapes and devices that many tests of the Tile layers use.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tile/base/hardware_settings.h"
#include "tile/base/shape.h"

namespace tartan {

inline TensorShape F32(std::vector<int64_t> dims) { return {DataType::kFloat32, std::move(dims)}; }
inline TensorShape I32(std::vector<int64_t> dims) { return {DataType::kInt32, std::move(dims)}; }

// A GPU with 48 KiB of local memory and 64 KiB of registers per compute unit.
inline HardwareSettings TestGpu(int64_t threads, int64_t compute_units) {
  HardwareSettings settings;
  settings.threads = threads;
  settings.vector_width = 1;
  settings.has_local_memory = true;
  settings.local_memory_bytes = 48 << 10;
  settings.register_bytes = 64 << 10;
  settings.max_work_group_size = 1024;
  settings.compute_units = compute_units;
  return settings;
}

// A GPU of two compute units, for small cases: work-groups of at most 64 work-items.
inline HardwareSettings SmallGpu() {
  HardwareSettings settings = TestGpu(64, 2);
  settings.local_memory_bytes = 32 << 10;
  settings.max_work_group_size = 64;
  return settings;
}

}  // namespace tartan
