// SPDX-License-Identifier: Apache-2.0
// Initial parameter values for training from scratch.
#pragma once

#include <cstdint>

#include "frontend/train/graph/parameters.h"
#include "tile/base/host_tensor.h"

namespace tartan::train {

// The role decides: weights are uniform within sqrt(3 / fan_in) (LeCun), embeddings normal with
// deviation 0.02, biases and means 0, scales and variances 1. Deterministic for a seed on every
// machine; independent for different names.
HostTensor InitialValue(const Parameter& parameter, uint64_t seed);

}  // namespace tartan::train
