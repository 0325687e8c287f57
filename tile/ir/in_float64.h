// SPDX-License-Identifier: Apache-2.0
// A program as it would be without rounding: the reference that errors are measured against.
#pragma once

#include "absl/status/statusor.h"
#include "tile/base/host_tensor.h"
#include "tile/ir/program.h"

namespace tartan::ir {

// The same program with every float tensor, inputs and outputs too, in float64. A literal keeps the
// float32 value it has beside float32 tensors; casts to narrower floats round no more; random
// numbers stay those of float32.
absl::StatusOr<Program> InFloat64(const Program& program);

// The tensor such a program takes in place of this one: floats widened, others as they are.
HostTensor InFloat64(const HostTensor& tensor);

}  // namespace tartan::ir
