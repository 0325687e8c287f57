// SPDX-License-Identifier: Apache-2.0
// Tile text through the naive evaluator.
#pragma once

#include <string>
#include <vector>

#include "tile/base/host_tensor.h"

namespace tartan::lang {

// Dense values of one type.
HostTensor FloatTensor(std::vector<int64_t> dims, const std::vector<float>& values);
HostTensor IntTensor(DataType type, std::vector<int64_t> dims, const std::vector<int64_t>& values);

// The function's outputs as the naive evaluator has them; a failure fails the test.
std::vector<HostTensor> Evaluate(const std::string& text, const std::vector<HostTensor>& inputs);

std::vector<double> Values(const HostTensor& tensor);

}  // namespace tartan::lang
