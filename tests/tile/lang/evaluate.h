// SPDX-License-Identifier: Apache-2.0
// Evaluates Tile text with the naive evaluator.
#pragma once

#include <string>
#include <vector>

#include "tile/base/host_tensor.h"

namespace tartan::lang {

// Creates dense tensors of one type.
HostTensor FloatTensor(std::vector<int64_t> dims, const std::vector<float>& values);
HostTensor IntTensor(DataType type, std::vector<int64_t> dims, const std::vector<int64_t>& values);

// Returns the function's outputs from the naive evaluator; a failure fails the test.
std::vector<HostTensor> Evaluate(const std::string& text, const std::vector<HostTensor>& inputs);

std::vector<double> Values(const HostTensor& tensor);

}  // namespace tartan::lang
