// SPDX-License-Identifier: Apache-2.0
// Passes that choose how matmuls are computed: form, number type and split. The table in passes.cc
// says what each pass does.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "tile/base/precision.h"
#include "tile/compiler/passes/compilation.h"

namespace tartan::compiler {

// Number format of the device's matrix unit; nothing if matmuls do not use one.
std::optional<MatrixFormat> MatrixUnitFormat(const Compilation& c);
// Returns whether a matrix unit may compute matmuls of the program: the precision allows it, or
// there are factors in one 16-bit type.
bool MayUseMatrixUnit(const Compilation& c);

// Computes index spaces and load-time constants of the program.
absl::Status Analyze(Compilation* c);
// Replaces the program by a rewritten one and analyzes it. `numbers`: the new number of each old
// value.
absl::Status TakeProgram(ir::Program program, const std::vector<ir::ValueId>& numbers,
                         Compilation* c);

absl::Status ScaleAfterMatmuls(Compilation* c);
absl::Status ChunkRows(Compilation* c);
absl::Status FuseParallelMatmuls(Compilation* c);
absl::Status RecomputeAttentionWeights(Compilation* c);
absl::Status NarrowMatmulOperands(Compilation* c);
absl::Status QuantizeFactors(Compilation* c);
absl::Status SplitKMatmuls(Compilation* c);
absl::Status SelectWinogradConvolutions(Compilation* c);
absl::Status SelectPackedMatmulPasses(Compilation* c);

}  // namespace tartan::compiler
