// SPDX-License-Identifier: Apache-2.0
// Passes that choose how products are computed: in which form, type and parts. What each is for is
// told in passes.cc.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "tile/base/precision.h"
#include "tile/compiler/compilation.h"

namespace tartan::compiler {

// The format of products on the device's matrix unit; nothing where they go to none.
std::optional<MatrixFormat> MatrixUnitFormat(const Compilation& c);

// What the compilation knows of its program.
absl::Status Analyze(Compilation* c);
// It goes on with a program that a pass has written anew, in which the values have these numbers.
absl::Status TakeProgram(ir::Program program, const std::vector<ir::ValueId>& numbers,
                         Compilation* c);

absl::Status ScaleAfterProducts(Compilation* c);
absl::Status JoinProducts(Compilation* c);
absl::Status NarrowFactors(Compilation* c);
absl::Status QuantizeFactors(Compilation* c);
absl::Status SplitDepths(Compilation* c);
absl::Status SelectWinogradConvolutions(Compilation* c);
absl::Status SelectNarrowProducts(Compilation* c);

}  // namespace tartan::compiler
