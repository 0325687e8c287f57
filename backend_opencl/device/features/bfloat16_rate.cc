// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/device/features/bfloat16_rate.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tartan::opencl {
namespace {

#if defined(__x86_64__)
constexpr int64_t kLoopIterations = 1000;  // of a loop with kAccumulators instructions
constexpr int kAccumulators = 12;          // cover two units with a latency of six cycles
constexpr int kLoopSamples = 40;           // the best one is undisturbed

// A loop of twelve instructions that accumulate in zmm0 to zmm11. Its factors are zeros.
#define TARTAN_LOOP(instruction)                                                              \
  __asm__ volatile(                                                                           \
      "vpxorq %%zmm12, %%zmm12, %%zmm12\n\t"                                                  \
      ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n\t"                                                  \
      "vpxorq %%zmm\\r, %%zmm\\r, %%zmm\\r\n\t"                                               \
      ".endr\n"                                                                               \
      "1:\n\t"                                                                                \
      ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n\t" instruction                                      \
      " %%zmm12, %%zmm12, %%zmm\\r\n\t"                                                       \
      ".endr\n\t"                                                                             \
      "decq %0\n\t"                                                                           \
      "jnz 1b\n\t"                                                                            \
      "vzeroupper"                                                                            \
      : "+r"(count)                                                                           \
      :                                                                                       \
      : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
        "xmm10", "xmm11", "xmm12")

void MultiplyAdds(int64_t count) { TARTAN_LOOP("vfmadd231ps"); }
void Dots(int64_t count) { TARTAN_LOOP("vdpbf16ps"); }
#undef TARTAN_LOOP

double NanosecondsOf(void (*loop)(int64_t count)) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int sample = 0; sample < kLoopSamples; ++sample) {
    const auto start = Clock::now();
    loop(kLoopIterations);
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  return best / (kLoopIterations * kAccumulators);
}
#endif

}  // namespace

BFloat16Rate MeasureBFloat16Rate() {
#if defined(__x86_64__)
  return {NanosecondsOf(Dots), NanosecondsOf(MultiplyAdds)};
#else
  return {};
#endif
}

bool HasFastDots(const BFloat16Rate& rate) {
  // Packing takes part of a gain; at twice the time nothing is left. Empirical.
  constexpr double kMaxRatio = 1.5;
  return rate.dot_ns < kMaxRatio * rate.multiply_add_ns;
}

}  // namespace tartan::opencl
