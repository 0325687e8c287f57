// SPDX-License-Identifier: Apache-2.0
// The check of a program whose values have the types in which they are stored.
#pragma once

#include "absl/status/status.h"
#include "tile/ir/program.h"

namespace tartan::ir {

// Verify for a program some of whose 16-bit floats are held in float32 (graph/widen_halves.h):
// types have to be right up to ComputeType, and a view (kReshape) has the type of what it shows.
absl::Status VerifyStored(const Program& program);

}  // namespace tartan::ir
