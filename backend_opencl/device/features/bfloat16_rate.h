// SPDX-License-Identifier: Apache-2.0
// Measures whether the processor's bfloat16 dot instruction is faster than float32 multiply-adds.
#pragma once

namespace tartan::opencl {

// Nanoseconds of one instruction on vectors of 512 bits, among independent ones. A dot does the
// work of two multiply-adds.
struct BFloat16Rate {
  double dot_ns = 0;           // vdpbf16ps
  double multiply_add_ns = 0;  // vfmadd231ps

  bool operator==(const BFloat16Rate&) const = default;
};

// Requires HostFeatures::avx512_bf16. Takes about a millisecond.
BFloat16Rate MeasureBFloat16Rate();

// Returns whether matmuls gain by dots. They also need instructions that pack the factors.
bool HasFastDots(const BFloat16Rate& rate);

}  // namespace tartan::opencl
