// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/launch_batch/megakernel_source.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tile/base/launch_batch_limits.h"

namespace tartan::opencl {
namespace {

// Acquire and release operations at device scope. A launch reads on one compute unit what the
// previous launch wrote on another one, and the L1 caches are not coherent. One work-item's release
// or acquire, combined with the work-group barriers around it, orders the memory accesses of the
// whole work-group, as in CUDA's grid barriers.
//
// `tt_item` returns the work-item's number in a way that hides from the compiler that all launches
// use the same number. Otherwise the compiler precomputes values of all kernels before the first
// launch, and registers spill (ViT in tf32 on an H200: 1.14 ms with the spills, 1.03 ms without).
constexpr char kMemory[] = R"(
#if defined(TARTAN_PTX) && !defined(TARTAN_PORTABLE)
static uint tt_look(__global volatile uint* word) {
  uint value;
  __asm__ volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
static inline int tt_item(void) {
  int item;
  __asm__ volatile("mov.u32 %0, %%tid.x;" : "=r"(item));
  return item;
}
static void tt_arrive(__global volatile uint* word) {
  __asm__ volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(word) : "memory");
}
#else
static uint tt_look(__global volatile uint* word) {
  const uint value = atomic_add(word, 0);
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  return value;
}
static inline int tt_item(void) { return (int)get_local_id(0); }
static void tt_arrive(__global volatile uint* word) {
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  atomic_inc(word);
}
#endif
)";

// Membership in the grid barrier. Members are the work-groups that execute launches; a member's
// share follows from its number. At a barrier, members wait for those that had a share. A
// work-group joins when it starts. If the device has no room for all work-groups (for example,
// because of another queue's kernel), the first one stops waiting and starts with those that are
// running. Once the rest have started, they become members before a launch that the first one
// chooses.
//   state[0]: number of joined work-groups; upper 16 bits: the number of members when the first one
//             stopped waiting
//   state[32]: arrivals at barriers so far, of members that had a share
//   state[64]: if members are missing: 1 + the launch from which on all take part, or 1 + end
//   state[96]: number of work-groups that have left; the last one resets the state
// role[]: number, members, next launch, arrivals before it.
constexpr char kMembers[] = R"(
static inline int tt_behind(const ulong run, const int launch, const int end) {
  return min(launch + (int)run, end);
}
static void tt_join(__global volatile uint* state, __global const ulong* table, const int words,
                    const uint groups, const int begin, const int end, __local uint* role) {
  uint word = atomic_inc(state) + 1;
  const uint number = (word & 0xffff) - 1;
  for (uint turn = 0; (word & 0xffff) != groups && word >> 16 == 0; ++turn) {
    if (number == 0 && turn >= $PATIENCE) atomic_cmpxchg(state, word, word | word << 16);
    word = tt_look(state);
  }
  uint members = word >> 16 == 0 ? groups : word >> 16;
  uint first = begin;
  uint arrivals = 0;
  if (number >= members) {
    do first = tt_look(state + 64); while (first == 0);
    --first;
    for (int i = begin; i < (int)first;) {
      __global const ulong* record = table + (long)i * words;
      if (record[$MEETS] != 0) arrivals += min((uint)record[$SHARERS], members);
      i = tt_behind(record[$RUN], i, end);
    }
    while (first < end && tt_look(state + 32) < arrivals) {
    }
    members = groups;
  }
  role[0] = number;
  role[1] = members;
  role[2] = first;
  role[3] = arrivals;
}
// Behind launch `step`, in which the first `sharers` of the members had a share: that the group's is
// done.
static void tt_tell(__global volatile uint* state, const uint groups, const int step,
                    const uint sharers, __local const uint* role) {
  if (role[1] < groups && role[0] == 0 && (tt_look(state) & 0xffff) == groups &&
      tt_look(state + 64) == 0) {
    state[64] = step + 2;
  }
  if (role[0] < sharers) tt_arrive(state + 32);
}
// Then, until all have done theirs.
static void tt_wait(__global volatile uint* state, const uint groups, const int step,
                    const uint sharers, __local uint* role) {
  const uint members = role[1];
  const uint arrivals = role[3] + min(sharers, members);
  while (tt_look(state + 32) < arrivals) {
  }
  role[3] = arrivals;
  if (members == groups) return;
  const uint all_from = tt_look(state + 64);
  if (all_from != 0 && all_from <= step + 2) role[1] = groups;
}
static void tt_leave(__global volatile uint* state, const uint groups, const int end,
                     __local const uint* role) {
  if (role[0] == 0 && role[1] < groups) state[64] = end + 1;
  if (atomic_inc(state + 96) + 1 < groups) return;
  for (int i = 0; i < $STATE; i += 32) state[i] = 0;
}
)";

// Local memory layout and dispatch of teams. Teams smaller than a warp are within one warp; larger
// teams are whole warps (tt_team_barrier).
constexpr char kTeams[] = R"(
#define TT_SPAN(team) ((team) > 16 ? ((team) + 31) / 32 * 32 : \
                       (team) > 8 ? 16 : (team) > 4 ? 8 : (team) > 2 ? 4 : (team))
#define TT_ROOM(local) ((local) > $TEAM ? $FILLING_POOL : $POOL)
#define TT_FIT(local) ((local) == 0 ? $ITEMS : TT_ROOM(local) / ((local) == 0 ? 1 : (local)))
#define TT_LESS(a, b) ((a) < (b) ? (a) : (b))
#define TT_TEAMS(name) TT_LESS($ITEMS / TT_SPAN(name##_team), TT_FIT(name##_local))
#define TT_PART(name) ulong name[TT_TEAMS(name) * name##_local / 8 + 1] __attribute__((aligned(name##_align))); \
  uchar name##_fits[TT_TEAMS(name) > 0 ? 1 : -1];
#define TT_OF_RUN , next, words, launches
#define TT_RUN(name, of_run) { \
    const int team = item / TT_SPAN(name##_team); \
    const int at = item % TT_SPAN(name##_team); \
    if (team < TT_TEAMS(name) && at < name##_team) { \
      name##_groups(record + $HEAD, (__local uchar*)pool + team * name##_local, phase, team, at, \
                    number + wide * team, pieces, wide * TT_TEAMS(name), (int)record[$WIDTH], \
                    (int)record[$HEIGHT] of_run); \
    } \
    break; \
  }
#define TT_COPY(type) { \
    __global const type* from = (__global const type*)arguments[0]; \
    __global type* to = (__global type*)arguments[1]; \
    for (long i = first; i < (long)(arguments[2] / sizeof(type)); i += step) to[i] = from[i]; \
    return; \
  }
static __attribute__((noinline)) void tt_copy(__local const ulong* arguments, const long first,
                                              const long step) {
  const ulong all = arguments[0] | arguments[1] | arguments[2];
  if ((all & 15) == 0) TT_COPY(uint4)
  if ((all & 3) == 0) TT_COPY(uint)
  TT_COPY(uchar)
}
)";

constexpr char kRun[] = R"(
typedef union {
$PARTS} tt_pool;
__constant uchar tt_is_early[] = {$EARLY};
static inline __attribute__((always_inline))
void tt_run(__local ulong* record, __local tt_pool* pool, const int number, const int wide,
            const int pieces, const int phase, const int item, __global const ulong* next,
            const int words, const int launches) {
  switch ((int)record[$CASE]) {
    case $COPY: tt_copy(record + $HEAD, number * $ITEMS + item, min(pieces, wide) * $ITEMS); break;
$SWITCH  }
}
)";

// Main loop of the persistent kernel. The table entry of the next launch is fetched while the
// current launch runs. An enqueue of a single launch needs no barrier. If only the first work-group
// has a share, the others go on to the next barrier. Before waiting at a barrier, a work-group
// executes phase 1 of the next launch (copies of constants to local memory), and phase 2 after the
// barrier. This is skipped while members are missing, because shares change when they join. A
// weight-stationary call counts as one step.
constexpr char kKernels[] = R"(
__kernel __attribute__((reqd_work_group_size($ITEMS, 1, 1)))
void $NAME(__global const ulong* table, __global volatile uint* state, const int begin,
           const int end, const int words) {
  __local tt_pool pool;
  __local ulong records[2][$WORDS];
  __local uint role[4];
  const int item = get_local_id(0);
  const uint groups = get_num_groups(0);
  const bool is_single = end - begin == 1;
  if (item == 0) {
    role[0] = get_group_id(0);
    role[1] = groups;
    role[2] = begin;
    if (!is_single) tt_join(state, table, words, groups, begin, end, role);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int next = role[2];
  int slot = 0;
  if (next < end && item < words) records[slot][item] = table[(long)next * words + item];
  barrier(CLK_LOCAL_MEM_FENCE);
  int behind = next < end ? tt_behind(records[slot][$RUN], next, end) : end;
  ulong ahead = behind < end && item < words ? table[(long)behind * words + item] : 0;
  int phase = 0;
  int sharers_before = 0;
  while (next < end) {
    __local ulong* record = records[slot];
    const bool has_all = role[1] == groups;
    const int sharers = record[$SHARERS];
    const int wide = sharers == 1 ? 1 : (int)role[1];
    const bool meets = record[$MEETS] != 0;
    if ((int)role[0] < sharers) {
      tt_run(record, &pool, role[0], wide, record[$PIECES], phase, tt_item(),
             table + (long)(next + 1) * words + $HEAD, words, behind - next);
    }
    const bool is_done = phase != 1;
    if (is_done) {
      sharers_before = sharers;
      next = behind;
      slot ^= 1;
      if (next < end && item < words) records[slot][item] = ahead;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (is_done && next < end) {
      behind = tt_behind(records[slot][$RUN], next, end);
      if (behind < end && item < words) ahead = table[(long)behind * words + item];
    }
    const int next_case = records[slot][$CASE];
    const bool begins = is_done && meets && has_all && next < end && next_case >= 0 &&
                        tt_is_early[next_case] != 0;
    if (item == 0 && next < end) {
      if (is_done && meets) tt_tell(state, groups, next - 1, sharers_before, role);
      if ((!is_done || meets) && !begins) tt_wait(state, groups, next - 1, sharers_before, role);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    phase = begins ? 1 : is_done ? 0 : 2;
  }
  if (item == 0 && !is_single) tt_leave(state, groups, end, role);
}
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void $ADDRESS(__global const void* memory, __global ulong* address) {
  *address = (ulong)memory;
}
)";

// Number of polls after which the first work-group stops waiting for work-groups that have not
// started; about 50 us.
constexpr int kMaxStartPolls = 100;

}  // namespace

std::string MegakernelSource(absl::Span<const hal::KernelSource> kernels, int64_t pool_bytes) {
  std::string cases;
  std::string parts;
  std::string early;
  int next = 0;
  for (const hal::KernelSource& kernel : kernels) {
    if (!kernel.in_launch_batch) continue;
    absl::StrAppend(&cases, "    case ", next++, ": TT_RUN(", kernel.name, ", ",
                    kernel.kept.empty() ? "" : "TT_OF_RUN", ")\n");
    absl::StrAppend(&parts, "  TT_PART(", kernel.name, ")\n");
    absl::StrAppend(&early, early.empty() ? "" : ", ", kernel.name, "_early");
  }
  if (cases.empty()) return "";
  return absl::StrReplaceAll(absl::StrCat(kMemory, kMembers, kTeams, kRun, kKernels),
                             {{"$NAME", kMegakernelName},
                              {"$ADDRESS", kAddressKernel},
                              {"$ITEMS", absl::StrCat(kMegakernelGroupItems)},
                              {"$PARTS", parts},
                              {"$EARLY", early},
                              {"$TEAM", absl::StrCat(kMaxBatchLocalBytes)},
                              {"$FILLING_POOL", absl::StrCat(kMaxBatchFillingBytes)},
                              {"$POOL", absl::StrCat(pool_bytes)},
                              {"$CASE", absl::StrCat(kCaseWord)},
                              {"$PIECES", absl::StrCat(kPiecesWord)},
                              {"$WIDTH", absl::StrCat(kWidthWord)},
                              {"$HEIGHT", absl::StrCat(kHeightWord)},
                              {"$SHARERS", absl::StrCat(kParticipantsWord)},
                              {"$RUN", absl::StrCat(kCallLaunchesWord)},
                              {"$MEETS", absl::StrCat(kHasBarrierWord)},
                              {"$WORDS", absl::StrCat(kMaxWords)},
                              {"$HEAD", absl::StrCat(kHeadWords)},
                              {"$STATE", absl::StrCat(kStateWords)},
                              {"$PATIENCE", absl::StrCat(kMaxStartPolls)},
                              {"$COPY", absl::StrCat(kCopyGroups)},
                              {"$SWITCH", cases}});
}

}  // namespace tartan::opencl
