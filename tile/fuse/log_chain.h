// SPDX-License-Identifier: Apache-2.0
// Decisions about row chains in the fusion log.
#pragma once

#include "tile/graph/fusion_log.h"
#include "tile/graph/rows/chain_groups.h"
#include "tile/ir/kernel_group.h"
#include "tile/ir/program.h"

namespace tartan::fuse {

// Adds one decision for each kernel of the chain that reads the result of another: `decision` with
// their names.
void LogChain(const ir::Program& program, const ir::Grouping& grouping,
              const graph::RowChain& chain, graph::FusionDecision decision, graph::FusionLog* log);

}  // namespace tartan::fuse
