// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD that makes `cpuid` report an older processor to other runtimes.
// scripts/without_avx512.py replaces each `cpuid` instruction in copies of these runtimes by a
// breakpoint. The signal handler here executes `cpuid` and clears the bits of AVX-512, AMX,
// AVX-VNNI and AVX10, so the runtimes choose code without them.
#include <cpuid.h>
#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace {

constexpr uint32_t Bit(int bit) { return uint32_t{1} << bit; }

struct Registers {
  uint32_t eax, ebx, ecx, edx;
};

// Feature bits of leaf 7, subleaf 0.
// EBX: AVX512 F, DQ, IFMA, PF, ER, CD, BW, VL.
// ECX: AVX512 VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ.
// EDX: AVX512 4VNNIW, 4FMAPS, VP2INTERSECT; AMX-BF16; AVX512-FP16; AMX-TILE, AMX-INT8.
constexpr uint32_t kEbx =
    Bit(16) | Bit(17) | Bit(21) | Bit(26) | Bit(27) | Bit(28) | Bit(30) | Bit(31);
constexpr uint32_t kEcx = Bit(1) | Bit(6) | Bit(11) | Bit(12) | Bit(14);
constexpr uint32_t kEdx = Bit(2) | Bit(3) | Bit(8) | Bit(22) | Bit(23) | Bit(24) | Bit(25);
// Feature bits of leaf 7, subleaf 1.
// EAX: AVX-VNNI, AVX512-BF16, AMX-FP16, AVX-IFMA.
// EDX: AVX-VNNI-INT8, AVX-NE-CONVERT, AMX-COMPLEX, AVX-VNNI-INT16, AVX10.
constexpr uint32_t kEax1 = Bit(4) | Bit(5) | Bit(21) | Bit(23);
constexpr uint32_t kEdx1 = Bit(4) | Bit(5) | Bit(8) | Bit(10) | Bit(19);

Registers Answer(uint32_t leaf, uint32_t part) {
  Registers r = {};
  __cpuid_count(leaf, part, r.eax, r.ebx, r.ecx, r.edx);
  if (leaf == 7 && part == 0) {
    r.ebx &= ~kEbx;
    r.ecx &= ~kEcx;
    r.edx &= ~kEdx;
  } else if (leaf == 7 && part == 1) {
    r.eax &= ~kEax1;
    r.edx &= ~kEdx1;
  }
  return r;
}

void AtBreakpoint(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const Registers r =
      Answer(static_cast<uint32_t>(registers[REG_RAX]), static_cast<uint32_t>(registers[REG_RCX]));
  registers[REG_RAX] = r.eax;
  registers[REG_RBX] = r.ebx;
  registers[REG_RCX] = r.ecx;
  registers[REG_RDX] = r.edx;
}

__attribute__((constructor)) void Install() {
  struct sigaction action = {};
  action.sa_sigaction = AtBreakpoint;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
  sigaction(SIGTRAP, &action, nullptr);
}

}  // namespace
