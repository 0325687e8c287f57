// SPDX-License-Identifier: Apache-2.0
#include "backend_opencl/dialect/gpu_operations.h"

#include "backend_opencl/dialect/opencl_expressions.h"
#include "backend_opencl/dialect/opencl_operations.h"

namespace tartan::opencl {

using codegen::Code;
using loop::Type;

namespace {

// Returns whether float32 vectors are divided by a literal for which tt_quotient is exact. Vectors
// of literals are known by their integer part.
bool HasCheapQuotient(const Type& type, const Code& divisor) {
  constexpr int64_t kMost = int64_t{1} << 60;
  if (type.element != DataType::kFloat32 || type.lanes == 1) return false;
  const int64_t whole = divisor.in_all_lanes.value_or(0);
  return whole != 0 && whole > -kMost && whole < kMost;
}

}  // namespace

Code ApplyOnGpu(ScalarOp op, const Type& type, const Type& result,
                absl::Span<const Code> operands) {
  if (op == ScalarOp::kDiv && HasCheapQuotient(type, operands[1])) {
    return CallHelper("quotient", type, operands);
  }
  const bool is_int32 = type.element == DataType::kInt32 || type.element == DataType::kUInt32;
  if (!is_int32) return Apply(op, type, result, operands);
  const auto negated = [&](const Code& operand) { return CallHelper("negated", type, {operand}); };
  if (op == ScalarOp::kNeg && operands[0].is_data) return negated(operands[0]);
  if (op == ScalarOp::kSub && operands[0].literal == 0 && operands[1].is_data) {
    return negated(operands[1]);
  }
  for (int i = 0; i < 2 && op == ScalarOp::kMul; ++i) {
    if (operands[i].literal == -1 && operands[1 - i].is_data) return negated(operands[1 - i]);
  }
  return Apply(op, type, result, operands);
}

}  // namespace tartan::opencl
