// SPDX-License-Identifier: Apache-2.0
// What kernels of a CPU device may use: what the device's compiler compiles for, as its predefined
// macros say, and what the processor has beyond that. Names of processors say neither: drivers
// know fewer processors than there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backend_opencl/device/opencl_api.h"

namespace tartan::opencl {

// Of the compiler, by its macros.
struct CompilerFeatures {
  bool is_x86 = false;
  bool is_arm64 = false;
  bool sse2 = false, avx = false, avx2 = false, avx_vnni = false, fma = false;
  bool avx512f = false, avx512bw = false, avx512vl = false;

  bool operator==(const CompilerFeatures&) const = default;
};

// Of the processor that this runs on, by its own answer (cpuid); all false where it is no x86.
struct HostFeatures {
  bool is_x86 = false;
  bool fma = false;
  bool avx512_vnni = false;  // vpdpbusd with AVX-512
  bool avx512_bf16 = false;  // vdpbf16ps
  bool avx_vnni = false;     // vpdpbusd of at most 256 bits
  // Made by AMD (or Hygon): an EPYC reads 27 to 31 GB/s as one stream of consecutive lines, 12 to
  // 20 as 2 to 16 streams; a Xeon 15 to 18 as either.
  bool prefers_one_stream = false;
  // Zen 5 and later: with 448 instructions under way and 64 bytes a cycle from the second cache,
  // products whose operands lie there are as quick as with those in the first.
  bool hides_second_cache = false;
  std::string identity;  // all that it answered
};

HostFeatures AskHost();

// Builds a small program. Drivers that know none of Clang's macros leave all false.
absl::StatusOr<CompilerFeatures> AskCompiler(cl_context context, cl_device_id device);

// For the disk cache; empty where the text is none of ToText.
std::string ToText(const CompilerFeatures& features);
std::optional<CompilerFeatures> FeaturesFromText(absl::string_view text);

}  // namespace tartan::opencl
