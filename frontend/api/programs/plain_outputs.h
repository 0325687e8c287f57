// SPDX-License-Identifier: Apache-2.0
// Converts the outputs of a run to tensors.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "frontend/api/model.h"
#include "frontend/api/value.h"
#include "tile/base/host_tensor.h"

namespace tartan::api {

// Returns the tensors of a model's output values. FailedPrecondition, naming the output, for a
// value that is not a tensor of numbers.
absl::StatusOr<std::vector<HostTensor>> PlainOutputs(const Model& model,
                                                     absl::Span<const HostValue> values);

}  // namespace tartan::api
