// SPDX-License-Identifier: Apache-2.0
// Fuses a matmul with elementwise work that reads several of its results per element, such as the
// gates and next states of an LSTM.
#pragma once

#include "tile/compiler/schedule.h"
#include "tile/fuse/judge.h"
#include "tile/ir/program.h"

namespace tartan::compiler {

// Fuses a reduction into the elementwise launch that is its only reader, if that is predicted to be
// faster. The reader needs several results of the reduction per element
// (poly/fuse_into_consumer.h). Only for GPUs.
void FuseIntoConsumer(const ir::Program& program, fuse::Judge* judge, Schedule* schedule);

}  // namespace tartan::compiler
