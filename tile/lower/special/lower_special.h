// SPDX-License-Identifier: Apache-2.0
// Lowers operations that are not contractions: scatter, sort, cumulative sums, random numbers.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/base/hardware_settings.h"
#include "tile/base/shape.h"
#include "tile/ir/program.h"
#include "tile/lower/emit/lower_options.h"
#include "tile/lower/special/special_context.h"

namespace tartan::lower {

struct SpecialKernels {
  std::vector<SpecialLaunch> launches;  // in order of execution
  std::vector<ScratchBuffer> scratch;
};

// The operand whose elements initialize the result; -1: none.
int CopiedOperand(ir::SpecialKind kind);
// Returns whether the result is initialized with zeros. Otherwise, without a CopiedOperand, the
// kernels write every element.
bool StartsAsZeros(ir::SpecialKind kind);

// `operands` and `result` are the shapes of the special operation's operands and value.
absl::StatusOr<SpecialKernels> LowerSpecial(const ir::Special& special,
                                            absl::Span<const TensorShape> operands,
                                            const TensorShape& result,
                                            const HardwareSettings& settings,
                                            const std::string& name, const LowerOptions& options);

}  // namespace tartan::lower
