// SPDX-License-Identifier: Apache-2.0
// Small ONNX models as lines of text, so that golden programs are written as networks are.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tile/ir/program.h"

namespace tartan::golden {

// What the importer makes of a model:
//
//   opset 17
//   input x float32 1 64 56 56
//   weight w float32 64 64 3 3          an initialiser of ones
//   value shape int64 2 = 1 -1          an initialiser of these values
//   y = Conv(x, w) pads=[1,1,1,1]
//   a, b = Split(y) axis=1
//   output a
//
// or `file PATH`, a model's file by its path in the source tree.
absl::StatusOr<ir::Program> ImportModel(const std::string& text, const std::string& name);

}  // namespace tartan::golden
