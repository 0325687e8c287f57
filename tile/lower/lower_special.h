// Kernels for what no contraction says: scatter, sort, running sums, random numbers.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tile/base/hardware_settings.h"
#include "tile/base/shape.h"
#include "tile/ir/program.h"
#include "tile/lower/lower_kernel.h"
#include "tile/sem/sem.h"

namespace tartan::lower {

struct SpecialKernels {
  // Run one after the other. Parameters: the result ("out0"), then the operands in order ("in0" …).
  std::vector<sem::Kernel> kernels;
  // The operand whose elements the result starts with; -1: none, the kernels write every element.
  int copied_operand = -1;
  // The result starts as zeros.
  bool zero_filled = false;
};

// `operands` and `result` are the shapes of the special operation's operands and value.
absl::StatusOr<SpecialKernels> LowerSpecial(const ir::Special& special,
                                            absl::Span<const TensorShape> operands,
                                            const TensorShape& result,
                                            const HardwareSettings& settings,
                                            const std::string& name, const LowerOptions& options);

}  // namespace tartan::lower
