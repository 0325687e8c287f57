// SPDX-License-Identifier: Apache-2.0
// Runs untrusted models with the naive evaluator, within limits.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::onnx {

// Binds the model to inputs of its types with unusual values derived from `seed`, and small sizes
// for open dimensions. Computes the outputs with the naive evaluator. `seed` also decides whether
// the importer knows the inputs at once or requests values. Every error but Internal is acceptable.
// ResourceExhausted comes from the model or from the limits on input sizes, index points and loop
// iterations.
absl::Status RunDamaged(const OnnxModel& model, uint32_t seed);

// A seed derived from the bytes.
uint32_t SeedOf(absl::string_view bytes);

// Loads the model from memory and runs it the same way.
absl::Status LoadAndRun(absl::string_view bytes);

}  // namespace tartan::onnx
