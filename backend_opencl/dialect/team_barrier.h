// SPDX-License-Identifier: Apache-2.0
// How items of a work-group wait for some of the others alone: groups of a sequence are teams of a
// larger one (sequence/group_sequence.h).
#pragma once

#include <cstdint>
#include <string>

namespace tartan::opencl {

// "tt_team_barrier(32, work_team);"
std::string TeamBarrier(int64_t items);

// What "tt_team_barrier" and, before functions in which it may stand, "TT_GROUP_FUNCTION" mean.
std::string TeamBarrierDefinition();
std::string GroupFunctionDefinition();

}  // namespace tartan::opencl
