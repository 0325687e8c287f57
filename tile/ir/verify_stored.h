// SPDX-License-Identifier: Apache-2.0
// Verifies a program whose values have their storage types.
#pragma once

#include "absl/status/status.h"
#include "tile/ir/program.h"

namespace tartan::ir {

// Verify for a program in which some 16-bit floats are stored as float32
// (graph/matmul/upcast_float16.h).
// Types must agree up to ComputeType, and a view (kReshape) has its operand's type.
absl::Status VerifyStored(const Program& program);

}  // namespace tartan::ir
