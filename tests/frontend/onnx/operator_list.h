// SPDX-License-Identifier: Apache-2.0
// Generates docs/operators.md: the supported operators and the number of official cases that pass
// for each.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tartan::onnx {

inline constexpr char kOperatorListFile[] = "docs/operators.md";

// The text of the page, from the operator table, the models of libonnx-testdata and the list of
// passing cases (tests/frontend/onnx/node_cases.txt, relative to the working folder). NotFound
// without the test data.
absl::StatusOr<std::string> OperatorList();

}  // namespace tartan::onnx
