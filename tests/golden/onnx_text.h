// SPDX-License-Identifier: Apache-2.0
// Parses small ONNX models written as lines of text, for the golden programs in *.nodes files.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tile/ir/program.h"

namespace tartan::golden {

// Parses the text and imports the model. A text has these lines:
//
//   `opset 17`
//   `input x float32 1 64 56 56`
//   `weight w float32 64 64 3 3`: an initializer of ones
//   `value shape int64 2 = 1 -1`: an initializer with these values
//   `y = Conv(x, w) pads=[1,1,1,1]`
//   `a, b = Split(y) axis=1`
//   `output a`
//
// Instead, the text may be the line `file PATH`: a model file's path in the source tree.
absl::StatusOr<ir::Program> ImportModel(const std::string& text, const std::string& name);

}  // namespace tartan::golden
