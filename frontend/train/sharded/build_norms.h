// SPDX-License-Identifier: Apache-2.0
// The program that computes the norms (ranks/norms.h) of a rank's part of the gradients.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/train/train_step.h"

namespace tartan::train {

// Computes the norms from the sums over ranks, as the update does.
absl::StatusOr<StepGraph> BuildNorms(const std::vector<Parameter>& parameters,
                                     const StepPlan& plan);

}  // namespace tartan::train
