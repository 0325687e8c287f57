// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/team_barrier.h"

#include "absl/strings/str_cat.h"

namespace tartan::opencl {
namespace {

// Teams of less than a warp lie in one, at a multiple of a power of two that holds them; larger
// ones are whole warps, and each has a barrier of its own: the first of the sixteen is the group's.
// Both instructions order memory as barrier() does, and may stand where other lanes are elsewhere.
// Without them a team is a group.
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

// Compiled once, for its sequence and its entry point. PoCL has no barriers in functions that stay.
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
