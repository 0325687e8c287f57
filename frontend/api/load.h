// From lazy tensors to a program on a device. Internal to frontend/api.
#pragma once

#include <memory>
#include <vector>

#include "frontend/api/device.h"
#include "frontend/api/run_statistics.h"
#include "frontend/api/tensor.h"
#include "tile/evaluator/loaded_program.h"

namespace tartan::api {

// Composes, compiles, sends constants to the device. Its inputs are `placeholders`, in that order.
// Adds to `statistics` what that took.
absl::StatusOr<std::shared_ptr<evaluator::LoadedProgram>> Load(
    const Device& device, absl::Span<const Tensor> placeholders, absl::Span<const Tensor> outputs,
    absl::string_view name, RunStatistics* statistics);

}  // namespace tartan::api
