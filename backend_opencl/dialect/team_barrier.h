// SPDX-License-Identifier: Apache-2.0
// Generates barriers for teams, which are parts of a work-group. In a persistent kernel
// (launch_batch/megakernel.h), each team executes one work-group of a launch.
#pragma once

#include <cstdint>
#include <string>

namespace tartan::opencl {

// Returns for example "tt_team_barrier(32, work_team);".
std::string TeamBarrier(int64_t items);

// Return the definitions of tt_team_barrier and of TT_GROUP_FUNCTION, the qualifier of functions
// that contain such a barrier.
std::string TeamBarrierDefinition();
std::string GroupFunctionDefinition();

}  // namespace tartan::opencl
