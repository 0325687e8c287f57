// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/hardware_probe.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tartan::opencl {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kMaxLanes = 16;  // lanes of the largest OpenCL C vector

int64_t OrDefault(int64_t reported, int64_t fallback) { return reported > 0 ? reported : fallback; }

bool IsPowerOfTwo(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

int64_t FloorPowerOfTwo(int64_t value) {
  int64_t power = 1;
  while (power <= value / 2) power *= 2;
  return power;
}

int64_t CacheLine(int64_t reported, int64_t fallback) {
  return IsPowerOfTwo(reported) && reported >= 16 && reported <= 1024 ? reported : fallback;
}

// AVX-512 has 32 vector registers, AVX has 16.
void SetVectorWidth(int64_t width, HardwareSettings* settings) {
  settings->vector_width = width;
  settings->register_bytes = (width >= 16 ? 32 : 16) * width * 4;
}

// vpdpbusd: multiply-accumulate of four byte pairs per 32-bit word.
bool HasAvx512Vnni(const CompilerFeatures& compiler, const HostFeatures& host) {
  return compiler.is_x86 && compiler.avx512bw && compiler.avx512vl && host.avx512_vnni;
}
// vdpbf16ps: multiply-accumulate of two bfloat16 pairs per 32-bit word.
bool HasAvx512Bf16(const CompilerFeatures& compiler, const HostFeatures& host) {
  return compiler.is_x86 && compiler.avx512bw && compiler.avx512vl && host.avx512_bf16;
}
bool HasAvxVnni(const CompilerFeatures& compiler, const HostFeatures& host) {
  return compiler.is_x86 && compiler.avx_vnni && !compiler.avx512f && host.avx_vnni;
}

// CPU layout: a work-group is one thread that executes its work-items one after the other. Kernels
// use one work-item per group and explicit vectors. Local memory is ordinary cached memory.
void FillCpu(const ReportedHardware& reported, HardwareSettings* settings) {
  settings->threads = 1;
  int64_t width =
      std::max(reported.native_float_vector_width, reported.preferred_float_vector_width);
  // Drivers that vectorize work-items themselves report 1; explicit vectors still pay off.
  if (width < 4 || !IsPowerOfTwo(width)) width = 8;
  SetVectorWidth(width > 64 ? 8 : std::min<int64_t>(width, kMaxLanes), settings);
  settings->has_local_memory = false;
  settings->cache_line_bytes = CacheLine(reported.cache_line_bytes, 64);
  // OpenCL does not say which cache level it reports. The operating system's values are preferred,
  // and the first two levels vary little among CPUs.
  settings->l1_bytes = std::clamp(OrDefault(reported.host_l1_bytes, 32 * kKiB), 8 * kKiB, kMiB);
  const int64_t guessed = std::clamp(OrDefault(reported.cache_bytes, 512 * kKiB), 256 * kKiB, kMiB);
  settings->l2_bytes =
      std::clamp(OrDefault(reported.host_l2_bytes, guessed), settings->l1_bytes, 64 * kMiB);
}

// GPU layout: work-items are the lanes.
void FillGpu(const ReportedHardware& reported, HardwareSettings* settings) {
  settings->threads = FloorPowerOfTwo(
      std::min<int64_t>({256, settings->max_work_group_size, settings->max_work_item_sizes[0]}));
  settings->vector_width = 1;
  settings->packed_dot_width = reported.has_dot8 ? 4 : 1;
  settings->has_local_memory =
      reported.local_memory_is_dedicated && reported.local_memory_bytes >= 4 * kKiB;
  settings->cache_line_bytes = CacheLine(reported.cache_line_bytes, 128);
  settings->l1_bytes = 16 * kKiB;
  settings->l2_bytes = std::max(OrDefault(reported.cache_bytes, kMiB), 128 * kKiB);
  settings->register_bytes = 64 * kKiB;
}

}  // namespace

void FollowCpu(const CompilerFeatures& compiler, const HostFeatures& host,
               HardwareSettings* settings) {
  settings->packed_dot_width = 1;
  settings->packs_unsigned = false;
  settings->multiplies_bfloat16 = false;
  settings->prefers_one_stream = host.prefers_one_stream;
  settings->hides_l2_latency = host.hides_l2_latency;
  settings->has_fma = compiler.is_x86 ? compiler.fma || compiler.avx512f
                                      : compiler.is_arm64 || !host.is_x86 || host.fma;
  if (!compiler.is_x86 || !compiler.sse2) return;
  SetVectorWidth(compiler.avx512f ? 16 : compiler.avx ? 8 : 4, settings);
  settings->packs_unsigned = HasAvx512Vnni(compiler, host) || HasAvxVnni(compiler, host);
  settings->packed_dot_width = settings->packs_unsigned ? 4 : 2;
  settings->multiplies_bfloat16 = HasAvx512Bf16(compiler, host);
}

std::string CpuBuildOptions(const CompilerFeatures& compiler, const HostFeatures& host) {
  return absl::StrCat(HasAvx512Vnni(compiler, host) ? "-DTARTAN_AVX512_VNNI " : "",
                      HasAvx512Bf16(compiler, host) ? "-DTARTAN_AVX512_BF16 " : "");
}

HardwareSettings SettingsFor(const ReportedHardware& reported) {
  HardwareSettings settings;
  settings.compute_units = OrDefault(reported.compute_units, 1);
  settings.clock_mhz = std::max<int64_t>(reported.clock_mhz, 0);
  settings.max_work_group_size = OrDefault(reported.max_work_group_size, 1);
  for (int i = 0; i < 3; ++i) {
    settings.max_work_item_sizes[i] =
        OrDefault(reported.max_work_item_sizes[i], i == 0 ? settings.max_work_group_size : 1);
  }
  settings.local_memory_bytes = OrDefault(reported.local_memory_bytes, 16 * kKiB);
  settings.has_float16 = reported.has_float16;
  settings.has_float64 = reported.has_float64;
  // Accelerators and custom devices use the CPU layout, which is correct on every device.
  if (reported.type == hal::DeviceType::kGpu) {
    FillGpu(reported, &settings);
  } else {
    FillCpu(reported, &settings);
  }
  return settings;
}

}  // namespace tartan::opencl
