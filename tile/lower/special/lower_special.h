// SPDX-License-Identifier: Apache-2.0
// Kernels for what no contraction says: scatter, sort, running sums, random numbers.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/base/hardware_settings.h"
#include "tile/base/shape.h"
#include "tile/ir/program.h"
#include "tile/lower/lower_options.h"
#include "tile/lower/special/special_context.h"

namespace tartan::lower {

struct SpecialKernels {
  std::vector<SpecialLaunch> launches;  // run one after the other
  std::vector<ScratchBuffer> scratch;
};

// The operand whose elements the result starts with; -1: none.
int CopiedOperand(ir::SpecialKind kind);
// The result starts as zeros. Where neither is so, the kernels write every element.
bool StartsAsZeros(ir::SpecialKind kind);

// `operands` and `result` are the shapes of the special operation's operands and value.
absl::StatusOr<SpecialKernels> LowerSpecial(const ir::Special& special,
                                            absl::Span<const TensorShape> operands,
                                            const TensorShape& result,
                                            const HardwareSettings& settings,
                                            const std::string& name, const LowerOptions& options);

}  // namespace tartan::lower
