// SPDX-License-Identifier: Apache-2.0
// Finds the instructions that kernels of a CPU device may use: the target of the device's compiler,
// given by its predefined macros, and further features of the processor. Processor names are not
// used, because drivers do not know every processor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backend_opencl/api/opencl_api.h"

namespace tartan::opencl {

// Target features of the compiler, from its predefined macros.
struct CompilerFeatures {
  bool is_x86 = false;
  bool is_arm64 = false;
  bool sse2 = false, avx = false, avx2 = false, avx_vnni = false, fma = false;
  bool avx512f = false, avx512bw = false, avx512vl = false;

  bool operator==(const CompilerFeatures&) const = default;
};

// Features of the host processor according to cpuid. All are false on processors other than x86.
struct HostFeatures {
  bool is_x86 = false;
  bool fma = false;
  bool avx512_vnni = false;  // vpdpbusd with AVX-512
  bool avx512_bf16 = false;  // vdpbf16ps
  bool avx_vnni = false;     // vpdpbusd with at most 256 bits
  // Memory bandwidth is higher for one sequential stream. Measured: AMD EPYC, 27 to 31 GB/s with
  // one stream, 12 to 20 GB/s with 2 to 16; Intel Xeon, 15 to 18 GB/s with any number. Set for AMD
  // and Hygon.
  bool prefers_one_stream = false;
  // L2 latency is hidden by computation: Zen 5 and later, with 448 instructions in flight and 64
  // bytes per cycle from L2. A matmul with operands in L2 is as fast there as with operands in L1.
  bool hides_l2_latency = false;
  std::string identity;  // all cpuid results, as text
};

HostFeatures ReadHostFeatures();

// Builds a small program. All features are false if the driver knows none of Clang's macros.
absl::StatusOr<CompilerFeatures> ReadCompilerFeatures(cl_context context, cl_device_id device);

// Serialization for the disk cache. FeaturesFromText returns no value for a text that ToText did
// not write.
std::string ToText(const CompilerFeatures& features);
std::optional<CompilerFeatures> FeaturesFromText(absl::string_view text);

}  // namespace tartan::opencl
