// SPDX-License-Identifier: Apache-2.0
// Persistent RNN: one work-group keeps the weights of a recurrent network between its launches.
#pragma once

#include "tile/compiler/schedule.h"
#include "tile/fuse/judge.h"
#include "tile/ir/program.h"

namespace tartan::compiler {

// Selects the persistent plan (plan/gpu/few_rows_search.h) for launches where it is
// predicted to be faster.
//
// The launches must follow each other, use the same weights, and each read a result of the launch
// before it. Two cases qualify:
//
// - A program of a single launch that is run repeatedly and returns values that it reads
//   (evaluator/repetition_form.h).
// - The steps of an unrolled loop within one program, if there are enough of them to share a kernel
//   (share_kernels.h).
//
// Only for devices that run launch sequences of work-groups.
void PlanPersistentRnn(const ir::Program& program, fuse::Judge* judge, Schedule* schedule);

}  // namespace tartan::compiler
