// SPDX-License-Identifier: Apache-2.0
// Helper functions of OpenCL C for matrix units: tiles in local memory (tile/base/matrix_tile.h)
// that the 128 work-items of four warps multiply together.
//
// On Hopper they are instructions, some of which are hidden from the driver's compiler
// (device/hidden_assembly.h); elsewhere they are loops.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tile/codegen/dialect.h"

namespace tartan::opencl {

// The statements of codegen::Dialect.
std::string CopyVector(const codegen::Place& to, const codegen::Place& from,
                       const codegen::Code& condition);
std::string AwaitCopies(int pending);
std::string MultiplyTiles(const loop::MultiplyTiles& product, const codegen::Place& accumulators,
                          const codegen::Place& left, const codegen::Place& right);

// The text of the helper function tt_<name>; "" for other names.
std::string MatrixHelper(absl::string_view name);

}  // namespace tartan::opencl
