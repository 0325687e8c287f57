// SPDX-License-Identifier: Apache-2.0
// Runs models on the host as a session runs them on a device: inputs are placeholders, what the
// importer asks is computed as soon as it does. By the definition of Tile, within limits.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/value.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::onnx {

// ResourceExhausted beyond them.
struct NaiveLimits {
  int64_t points = 1 << 22;         // index points of a contraction
  int64_t points_in_all = 1 << 26;  // fewer for each where there are many
  int64_t iterations = 1000;        // of a loop
  int breaks = 200;
};

// `values` and `bindings` by the model's inputs; an input whose binding has no value stays unknown
// to the importer until it asks. Internal error where it asks for a value twice.
absl::StatusOr<std::vector<api::HostValue>> BindAndEvaluate(const OnnxModel& model,
                                                            absl::Span<const api::HostValue> values,
                                                            std::vector<api::InputBinding> bindings,
                                                            const NaiveLimits& limits = {});

// The same with no value known but those of inputs that are not plain tensors. Inputs that `values`
// is too short for are left out.
absl::StatusOr<std::vector<api::HostValue>> RunUnknown(const OnnxModel& model,
                                                       absl::Span<const api::HostValue> values);

}  // namespace tartan::onnx
