// SPDX-License-Identifier: Apache-2.0
// Rematerialization (activation checkpointing): values with distant readers are freed and
// recomputed before those readers, to meet a memory budget.
#pragma once

#include <cstdint>

#include "tile/base/hardware_settings.h"
#include "tile/compiler/kernel_list.h"

namespace tartan::compiler {

// Reduces the memory of the list to at most `budget` bytes, including states and constants, or as
// far as possible.
//
// A drop frees a value that is live at the peak, and recomputes it before its next reader. A greedy
// search takes the drop with the lowest recomputation time per byte saved. Drops that later drops
// made unnecessary are undone at the end. The search runs with several targets, and the fastest
// result within the budget is used. Statistics are in KernelList::recomputed.
void Recompute(int64_t budget, const HardwareSettings& settings, KernelList* list);

struct CheapRecomputation {
  int64_t min_peak_bytes = 0;  // lists with a lower peak of live bytes keep all values
  double saved_share = 0;      // share of the peak at which the search ends
  double time_share = 0;       // limit of recomputation, as a share of the list's predicted time
};

// Reduces the peak of live bytes within a limit of time instead of memory, with the same greedy
// search. It ends at either limit.
void RecomputeCheapValues(const CheapRecomputation& limits, const HardwareSettings& settings,
                          KernelList* list);

// Bytes that are allocated between runs: states, constants and values computed from constants.
int64_t ResidentBytes(const KernelList& list);

}  // namespace tartan::compiler
