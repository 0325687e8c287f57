// SPDX-License-Identifier: Apache-2.0
// Producer recomputation in consumers: removes launches of a single work-group, such as the
// normalisation of one row, during which all other compute units would be idle.
#pragma once

#include "tile/compiler/kernel_list.h"
#include "tile/fuse/judge.h"

namespace tartan::compiler {

// Fuses a producer with one work-group into its consumers. Each work-group of a consumer recomputes
// the result in local memory. Requires that every consumer launches at most one work-group per
// compute unit. Only for GPUs. The judge records the decisions.
void RecomputeInConsumers(fuse::Judge* judge, KernelList* list);

}  // namespace tartan::compiler
