// SPDX-License-Identifier: Apache-2.0
// Binds programs in text, for kernels and for the host.
#pragma once

#include "absl/status/statusor.h"
#include "proto/tile.pb.h"
#include "tile/ir/program.h"
#include "tile/lang/ast.h"

namespace tartan::evaluator {

// `tree`, if it is not null, is the tree of the code. The program has no parts.
absl::StatusOr<ir::Program> BindProgram(const proto::Program& program, const lang::Function* tree);

// The program of a part. Its inputs are constants and states as the inputs of `whole` are. The last
// part computes next states.
proto::Program ProgramOfPart(const proto::Program& whole, int number);

}  // namespace tartan::evaluator
