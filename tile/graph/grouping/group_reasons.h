// SPDX-License-Identifier: Apache-2.0
// Reasons of GroupIntoKernels for the fusion log.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "tile/graph/fusion_log.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"

namespace tartan::graph {

// Reasons for two kernels.
inline constexpr char kIsKernel[] = "the consumer is a reduction or another kernel of its own";
inline constexpr char kReadBySpecial[] = "the consumer reads its operands from memory";
inline constexpr char kManyOperations[] =
    "the consumer would need too many operations to compute the producer";
inline constexpr char kManyReads[] =
    "the consumer would need too many reads to compute the producer";
inline constexpr char kComputedAtLoad[] = "the producer is computed once, at load";
inline constexpr char kSeveralKernels[] = "several kernels read the producer";
inline constexpr char kRepeatedly[] =
    "the consumer would compute each element of the producer several times";

// A reason is a static text; null: there is none.
struct GroupReasons {
  // Per value, why it is stored in memory.
  std::vector<const char*> stored;
  // Why the kernel of a reduction (first) does not compute a value (second) in its epilogue.
  std::map<std::pair<ir::ValueId, ir::ValueId>, const char*> misfit;
};

// Adds a decision for each operand of each computed value: whether one kernel computes both.
// `region`: per value, the reduction whose kernel computes it as an epilogue, or kNoValue.
void LogGroups(const ir::Program& program, const ir::Grouping& grouping,
               const std::vector<ir::ValueId>& region, const GroupReasons& reasons, FusionLog* log);

}  // namespace tartan::graph
