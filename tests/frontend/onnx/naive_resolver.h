// SPDX-License-Identifier: Apache-2.0
// Runs models on the host with the naive evaluator, as the reference for sessions on devices. As in
// a session, inputs are placeholders, and values that the importer requests are computed on
// request.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/value.h"
#include "frontend/onnx/model/onnx_model.h"

namespace tartan::onnx {

// Limits of an evaluation; ResourceExhausted beyond them.
struct NaiveLimits {
  int64_t points = 1 << 22;         // index points per contraction
  int64_t points_in_all = 1 << 26;  // index points per evaluation, shared among its tensor nodes
  int64_t iterations = 1000;        // iterations per loop
  int breaks = 200;
};

// Evaluates the model. `values` and `bindings` are in the order of the model's inputs. The value of
// an input without one in its binding stays unknown to the importer until the importer requests it.
// Returns Internal when the importer requests a value twice.
absl::StatusOr<std::vector<api::HostValue>> BindAndEvaluate(const OnnxModel& model,
                                                            absl::Span<const api::HostValue> values,
                                                            std::vector<api::InputBinding> bindings,
                                                            const NaiveLimits& limits = {});

// The same, but the importer initially knows no values except inputs that are not plain tensors.
// Leaves out inputs beyond the end of `values`.
absl::StatusOr<std::vector<api::HostValue>> RunUnknown(const OnnxModel& model,
                                                       absl::Span<const api::HostValue> values);

}  // namespace tartan::onnx
