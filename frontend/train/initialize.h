// SPDX-License-Identifier: Apache-2.0
// First values of parameters, for training from nothing.
#pragma once

#include <cstdint>

#include "frontend/train/parameters.h"
#include "tile/base/host_tensor.h"

namespace tartan::train {

// By the parameter's role: weights uniform within sqrt(3 / fan_in) (LeCun), embeddings normal with
// deviation 0.02, biases and means 0, scales and variances 1. The same for a seed on every machine;
// independent for different names.
HostTensor InitialValue(const Parameter& parameter, uint64_t seed);

}  // namespace tartan::train
