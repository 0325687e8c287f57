// SPDX-License-Identifier: Apache-2.0
// docs/operators.md: which operators there are, and how many official cases of each pass.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tartan::onnx {

inline constexpr char kOperatorListFile[] = "docs/operators.md";

// The page, from the operator table, the models of libonnx-testdata and the list of cases that
// pass (tests/frontend/onnx/node_cases.txt, of the working folder). NotFound without the data.
absl::StatusOr<std::string> OperatorList();

}  // namespace tartan::onnx
