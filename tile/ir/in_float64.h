// SPDX-License-Identifier: Apache-2.0
// Rewrites a program to float64: the reference against which rounding errors are measured.
#pragma once

#include "absl/status/statusor.h"
#include "tile/base/host_tensor.h"
#include "tile/ir/program.h"

namespace tartan::ir {

// The program with every float tensor in float64, including inputs and outputs. A constant keeps
// the float32 value that it has next to float32 tensors. Casts to narrower floats no longer round.
// Random numbers are the float32 ones.
absl::StatusOr<Program> InFloat64(const Program& program);

// The input tensor for such a program: floats are converted to float64, others are unchanged.
HostTensor InFloat64(const HostTensor& tensor);

}  // namespace tartan::ir
