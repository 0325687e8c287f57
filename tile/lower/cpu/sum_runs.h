// SPDX-License-Identifier: Apache-2.0
// Long sums are added up in runs: rounding errors grow with the numbers that one accumulator takes,
// so each run has accumulators of its own, and those of the tile take one number a run. Where terms
// have random signs the error of n of them falls from sqrt(n / 2) units to sqrt(r / 2 + n / 2r).
#pragma once

#include <cstdint>

#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

struct SumRuns {
  int level = -1;     // of the plan's order of reduced indices; -1: the sum is not divided
  int64_t steps = 0;  // of that level's loop in a run
  // There are two runs, and the first one's accumulators are the tile's.
  bool are_two = false;
  int64_t fine_steps = 0;  // of a run's own runs; 0: it has none
};

// Divides sums in float32 of which an accumulator takes at least 64 numbers: into two runs below
// 128, else into runs of 64, or of 128 from 512 on, at most. A run costs a load, an addition and a
// store of each accumulator, 1 to 3 % of its time. A tile with few accumulators keeps those of runs
// in registers: it has runs of 16 from 32 numbers on, and within longer ones.
SumRuns DivideSum(const poly::FlatContraction& flat, const plan::CpuPlan& plan);

// The same where sizes are arguments. Every sum has runs, of steps of the innermost loop, as many
// as there are runs at best: its text knows no size. Small windows, which no program's sizes
// change, have none below 32 numbers. Where weights have a scale for each block, a block is a run.
SumRuns DivideAnySum(const poly::FlatContraction& flat, const plan::CpuPlan& plan);

}  // namespace tartan::lower
