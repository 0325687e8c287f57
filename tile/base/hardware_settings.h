// SPDX-License-Identifier: Apache-2.0
// The device properties that the compiler uses. Mirrors proto::HardwareSettings, which documents
// the fields.
#pragma once

#include <array>
#include <cstdint>

namespace tartan {

struct HardwareSettings {
  int64_t threads = 1;
  int64_t vector_width = 8;
  bool has_local_memory = false;
  int64_t local_memory_bytes = 32768;
  int64_t l1_bytes = 32768;
  int64_t l2_bytes = 524288;
  int64_t cache_line_bytes = 64;
  int64_t register_bytes = 512;
  int64_t compute_units = 1;
  int64_t max_work_group_size = 1;
  std::array<int64_t, 3> max_work_item_sizes = {1, 1, 1};
  bool has_float16 = false;
  bool has_float64 = true;
  int64_t packed_dot_width = 1;
  bool packs_unsigned = false;
  bool multiplies_bfloat16 = false;
  bool has_fma = true;
  bool batches_launches = false;
  bool prefers_one_stream = false;
  bool hides_l2_latency = false;
  int64_t matrix_local_bytes = 0;
  int64_t matrix_rate = 0;
  int64_t clock_mhz = 0;
  double gflops = 0;
  double gbps = 0;
  double launch_us = 0;

  bool operator==(const HardwareSettings&) const = default;
};

}  // namespace tartan
