// SPDX-License-Identifier: Apache-2.0
// Runs Tile text with the naive evaluator.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/base/host_tensor.h"
#include "tile/ir/naive_evaluator.h"

namespace tartan::ir {

HostTensor Floats(std::vector<int64_t> dims, const std::vector<float>& values);
// Converts values from double to any type.
HostTensor Typed(DataType type, std::vector<int64_t> dims, const std::vector<double>& values);
HostTensor Ints(DataType type, std::vector<int64_t> dims, const std::vector<int64_t>& values);

absl::StatusOr<Program> BindTile(const std::string& text, const std::vector<HostTensor>& inputs);
absl::StatusOr<std::vector<HostTensor>> RunAll(const std::string& text,
                                               const std::vector<HostTensor>& inputs,
                                               const NaiveOptions& options = {});
// Returns the first output; a failure fails the test.
HostTensor RunTile(const std::string& text, const std::vector<HostTensor>& inputs);

}  // namespace tartan::ir
