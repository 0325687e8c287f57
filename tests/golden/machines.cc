// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/machines.h"

namespace tartan::golden {
namespace {

// A CPU with sixteen 16-byte vector registers and no fused multiply-add.
HardwareSettings Sse() {
  HardwareSettings settings;
  settings.threads = 1;
  settings.vector_width = 4;
  settings.has_local_memory = false;
  settings.local_memory_bytes = 256 << 10;
  settings.l1_bytes = 32 << 10;
  settings.l2_bytes = 256 << 10;
  settings.cache_line_bytes = 64;
  settings.register_bytes = 16 * 16;
  settings.compute_units = 4;
  settings.max_work_group_size = 4096;
  settings.max_work_item_sizes = {4096, 4096, 4096};
  settings.has_float16 = false;
  settings.has_float64 = true;
  settings.packed_dot_width = 2;
  settings.packs_unsigned = false;
  settings.has_fma = false;
  settings.batches_launches = true;
  settings.clock_mhz = 2600;
  settings.gflops = 64;
  settings.gbps = 10;
  settings.launch_us = 5;
  return settings;
}

// An AMD CPU with AVX2 and fused multiply-add.
HardwareSettings Avx2() {
  HardwareSettings settings = Sse();
  settings.prefers_one_stream = true;
  settings.vector_width = 8;
  settings.l2_bytes = 512 << 10;
  settings.register_bytes = 16 * 32;
  settings.compute_units = 8;
  settings.has_fma = true;
  settings.clock_mhz = 3400;
  settings.gflops = 800;
  settings.gbps = 30;
  return settings;
}

// A CPU with AVX-512, VNNI and bfloat16 instructions.
HardwareSettings Avx512() {
  HardwareSettings settings = Avx2();
  settings.prefers_one_stream = false;
  settings.vector_width = 16;
  settings.l1_bytes = 48 << 10;
  settings.l2_bytes = 2 << 20;
  settings.register_bytes = 32 * 64;
  settings.compute_units = 16;
  settings.packed_dot_width = 4;
  settings.packs_unsigned = true;
  settings.multiplies_bfloat16 = true;
  settings.clock_mhz = 2800;
  settings.gflops = 2800;
  settings.gbps = 100;
  return settings;
}

HardwareSettings H200() {
  HardwareSettings settings;
  settings.threads = 256;
  settings.vector_width = 1;
  settings.has_local_memory = true;
  settings.local_memory_bytes = 48 << 10;
  settings.l1_bytes = 16 << 10;
  settings.l2_bytes = 132 * (32 << 10);  // as the H200's driver reports
  settings.cache_line_bytes = 128;
  settings.register_bytes = 64 << 10;
  settings.compute_units = 132;
  settings.max_work_group_size = 1024;
  settings.max_work_item_sizes = {1024, 1024, 64};
  settings.has_float16 = false;
  settings.has_float64 = true;
  settings.packed_dot_width = 4;
  settings.packs_unsigned = false;
  settings.has_fma = true;
  settings.batches_launches = true;
  settings.clock_mhz = 1980;
  settings.gflops = 60000;
  settings.gbps = 4000;
  settings.launch_us = 3;
  return settings;
}

}  // namespace

const std::vector<Machine>& Machines() {
  static const auto& machines = *new std::vector<Machine>{
      {"sse", Sse()}, {"avx2", Avx2()}, {"avx512", Avx512()}, {"h200", H200()}};
  return machines;
}

}  // namespace tartan::golden
