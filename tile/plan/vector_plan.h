// Plans for CPU devices whose accumulators are explicit vectors.
#pragma once

#include "tile/base/hardware_settings.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::plan {

// Sets the vector fields of `plan` where the kernel is a float32 sum without conditions whose reads
// are contiguous (or constant) along one index; leaves it alone otherwise. `contiguous` is the
// output index along which stored elements are neighbours, -1 for none.
void ChooseVectors(const poly::FlatContraction& flat, const HardwareSettings& settings,
                   int contiguous, KernelPlan* plan);

}  // namespace tartan::plan
