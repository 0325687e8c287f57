// SPDX-License-Identifier: Apache-2.0
// Runs models of which nothing is known by the definition of Tile, within limits.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::onnx {

// Binds the model to inputs of its types with strange values that follow from `seed` (open sizes
// are small) and computes its outputs naively. The inputs are known while the graph is imported, or
// values that decide it are asked for, as `seed` says. Any error is right but an internal one;
// ResourceExhausted is the model's or ours: beyond small inputs, many index points or iterations of
// loops we give up.
absl::Status RunDamaged(const OnnxModel& model, uint32_t seed);

// A seed that depends on the bytes alone.
uint32_t SeedOf(absl::string_view bytes);

// The same for a model in memory.
absl::Status LoadAndRun(absl::string_view bytes);

}  // namespace tartan::onnx
