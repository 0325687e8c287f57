// SPDX-License-Identifier: Apache-2.0
// Generates OpenCL C helper functions for tensor cores. The 128 work-items of four warps multiply
// two tiles in local memory (tile/base/mma_tile.h).
//
// On Hopper the functions use instructions, some of them hidden from the driver's compiler
// (dialect/hidden_assembly.h). Devices without tensor cores run loops.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// Sets the tensor-core statements of the dialect.
void SetMatrixStatements(codegen::Dialect* dialect);

// Returns the definition of the helper function tt_<name>, or "" for other names.
std::string MatrixHelper(absl::string_view name);

}  // namespace tartan::opencl
