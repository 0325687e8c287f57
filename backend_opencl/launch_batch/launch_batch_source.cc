// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/launch_batch/launch_batch_source.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace tartan::opencl {
namespace {

// Work distribution. `taken` and `done` count pieces over all executions; `base` is their value at
// the start of this one. Counters are never reset, and a thread that arrives late finds no piece to
// take. Counters and `base` may wrap around. A thread that waits long yields its processor, because
// the awaited piece may belong to a thread without a processor.
constexpr char kFunctions[] = R"(
#ifdef TARTAN_PORTABLE
#define tt_load(counter) atomic_add(counter, 0)
static int tt_move_on(__global volatile int* counter, int from) {
  return atomic_cmpxchg(counter, from, (int)((uint)from + 1)) == from;
}
static void tt_note(__global volatile int* done) {
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  atomic_inc(done);
}
#define tt_pause(turn)
#define tt_fence() mem_fence(CLK_GLOBAL_MEM_FENCE)
#else
#define tt_load(counter) __atomic_load_n(counter, __ATOMIC_ACQUIRE)
static int tt_move_on(__global volatile int* counter, int from) {
  return __atomic_compare_exchange_n(counter, &from, (int)((uint)from + 1), 0, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}
static void tt_note(__global volatile int* done) { __atomic_fetch_add(done, 1, __ATOMIC_SEQ_CST); }
static void tt_pause(uint turn) {
#ifdef __x86_64__
  __asm__ volatile("pause");
#ifdef __linux__
  if ((turn & 255) != 255) return;
  // sched_yield; in the end nanosleep, which lets threads of lesser priority run, too.
  const long nap[2] = {0, 50000};
  ulong result = turn < 100000 ? 24 : 35;
  __asm__ volatile("syscall" : "+a"(result) : "D"(nap), "S"(0L) : "rcx", "r11", "memory");
#endif
#endif
}
#define tt_fence()
#endif
// The number of a piece that nobody else has, or `pieces`.
static int tt_take(__global volatile int* taken, uint base, int pieces) {
  for (;;) {
    const int before = tt_load(taken);
    const int piece = (int)((uint)before - base);
    if (piece >= pieces) return pieces;
    if (tt_move_on(taken, before)) return piece;
  }
}
static void tt_wait(__global volatile int* done, uint base, int pieces) {
  for (uint turn = 0; (int)((uint)tt_load(done) - base) < pieces; ++turn) tt_pause(turn);
  tt_fence();
}
typedef ulong __attribute__((aligned(1))) tt_eight_bytes;
static __attribute__((noinline)) void tt_copy(__global const ulong* arguments, long begin,
                                              long end) {
  __global const uchar* from = (__global const uchar*)arguments[0];
  __global uchar* to = (__global uchar*)arguments[1];
  const long last = min(end * $BLOCK, (long)arguments[2]);
  long i = begin * $BLOCK;
  for (; i + 8 <= last; i += 8) {
    *(__global tt_eight_bytes*)(to + i) = *(__global const tt_eight_bytes*)(from + i);
  }
  for (; i < last; ++i) to[i] = from[i];
}
)";

// Executes the table as a separate function, whose address the host can obtain; `used` prevents
// inlining into the kernel. With `alone`, no counters are used. If `end` is negative, the kernel
// writes addresses to `places`.
constexpr char kKernel[] = R"(
__attribute__((noinline, used)) void tartan_run_steps(
    __global const int* steps, __global const ulong* arguments, __global volatile int* counters,
    const int begin, const int end, const uint run, const int alone) {
  for (int s = begin; s < end; ++s) {
    __global const int* step = steps + $NUMBERS * s;
    const int items = step[2];
    const int chunk = alone ? items : step[3];
    const int pieces = alone ? 1 : step[6];
    __global const ulong* a = arguments + step[1];
    __global volatile int* taken = counters + $COUNTERS * s;
    __global volatile int* done = taken + $COUNTERS / 2;
    const uint base = run * (uint)pieces;
    int piece = alone ? 0 : tt_take(taken, base, pieces);
    while (piece < pieces) {
      const int first = piece * chunk;
      const int last = min(first + chunk, items);
      switch (step[0]) {
        case -1: tt_copy(a, first, last); break;
$CASES      }
      if (alone) break;
      tt_note(done);
      piece = tt_take(taken, base, pieces);
    }
    if (!alone) tt_wait(done, base, pieces);
  }
}
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void $NAME(__global const int* steps, __global const ulong* arguments,
           __global volatile int* counters, __global ulong* places, const int begin, const int end,
           const uint run, const int alone) {
  if (end >= 0) {
    tartan_run_steps(steps, arguments, counters, begin, end, run, alone);
    return;
  }
  ulong code = 0;
#if defined(__x86_64__) && !defined(TARTAN_PORTABLE)
  __asm__("leaq tartan_run_steps(%%rip), %0" : "=r"(code));
#endif
  places[0] = (ulong)steps;
  places[1] = (ulong)arguments;
  places[2] = (ulong)counters;
  places[3] = code;
}
)";

}  // namespace

std::string LaunchBatchSource(absl::Span<const hal::KernelSource> kernels) {
  std::string cases;
  int next = 0;
  for (const hal::KernelSource& kernel : kernels) {
    if (!kernel.in_launch_batch) continue;
    absl::StrAppend(&cases, "        case ", next++, ": ", kernel.name,
                    "_items(a, first, last, step[4], step[5]); break;\n");
  }
  if (cases.empty()) return "";
  return absl::StrReplaceAll(absl::StrCat(kFunctions, kKernel),
                             {{"$NAME", kLaunchBatchKernelName},
                              {"$BLOCK", absl::StrCat(kBlockBytes)},
                              {"$NUMBERS", absl::StrCat(kWordsPerStep)},
                              {"$COUNTERS", absl::StrCat(kCountersPerStep)},
                              {"$CASES", cases}});
}

int EntryPointCount(absl::Span<const hal::KernelSource> kernels) {
  const auto in_launch_batch =
      std::count_if(kernels.begin(), kernels.end(),
                    [](const hal::KernelSource& kernel) { return kernel.in_launch_batch; });
  return static_cast<int>(kernels.size()) - static_cast<int>(in_launch_batch) +
         (in_launch_batch > 0 ? 1 : 0);
}

}  // namespace tartan::opencl
