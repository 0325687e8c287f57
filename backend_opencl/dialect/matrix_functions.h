// SPDX-License-Identifier: Apache-2.0
// Helper functions of OpenCL C for matrix units: tiles in local memory (tile/base/matrix_tile.h)
// that the 128 work-items of four warps multiply together.
//
// On Hopper they are instructions, some of which are hidden from the driver's compiler
// (dialect/hidden_assembly.h); elsewhere they are loops.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// The statements of matrix units.
void SetMatrixStatements(codegen::Dialect* dialect);

// The text of the helper function tt_<name>; "" for other names.
std::string MatrixHelper(absl::string_view name);

}  // namespace tartan::opencl
