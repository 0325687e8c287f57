// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/team_barrier.h"

#include "absl/strings/str_cat.h"

namespace tartan::opencl {
namespace {

// Barrier of a team. A team of less than a warp is within one warp, aligned to its size rounded up
// to a power of two. A larger team consists of whole warps and uses one of the 16 hardware
// barriers; barrier 0 belongs to the work-group. Both instructions order memory as barrier() does
// and allow other lanes to be elsewhere. Without these instructions a team is a whole work-group.
constexpr char kTeamBarrier[] =
    R"(static inline void tt_team_barrier(const int items, const int team) {
#if defined(TARTAN_PTX) && !defined(TARTAN_PORTABLE)
  if (items > 32) {
    __asm__ volatile("barrier.sync %0, %1;" : : "r"(team + 1), "r"(items) : "memory");
    return;
  }
  const int span = items > 16 ? 32 : items > 8 ? 16 : items > 4 ? 8 : items > 2 ? 4 : items;
  const uint lanes = (0xffffffffu >> (32 - items)) << (team * span & 31);
  __asm__ volatile("bar.warp.sync %0;" : : "r"(lanes) : "memory");
#else
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#endif
}
)";

// GPU code is compiled once, for the persistent kernel and for the kernel's entry point. PoCL does
// not support barriers in functions that are not inlined.
constexpr char kGroupFunction[] = R"(#if defined(TARTAN_PTX) && !defined(TARTAN_PORTABLE)
#define TT_GROUP_FUNCTION static __attribute__((noinline))
#else
#define TT_GROUP_FUNCTION static
#endif
)";

}  // namespace

std::string TeamBarrier(int64_t items) {
  return absl::StrCat("tt_team_barrier(", items, ", work_team);");
}

std::string TeamBarrierDefinition() { return kTeamBarrier; }

std::string GroupFunctionDefinition() { return kGroupFunction; }

}  // namespace tartan::opencl
