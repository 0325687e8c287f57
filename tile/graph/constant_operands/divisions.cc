// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/constant_operands/divisions.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

// Divisors between the inverse of this number and the number itself have normal reciprocals.
constexpr double kMaxDivisor = 1e30;

bool IsRounding(const ir::Value& value) {
  const auto* cast = std::get_if<ir::Elementwise>(&value.op);
  return cast != nullptr && cast->op == ScalarOp::kCast &&
         (value.shape.type == DataType::kBFloat16 || value.shape.type == DataType::kFloat16);
}

// Returns whether the value is an addition, subtraction, multiplication or negation. Their rounding
// is as large as the error of a reciprocal.
bool IsArithmetic(const ir::Value& value) {
  const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
  if (elementwise == nullptr || value.shape.type != DataType::kFloat32) return false;
  const ScalarOp op = elementwise->op;
  return op == ScalarOp::kAdd || op == ScalarOp::kSub || op == ScalarOp::kMul ||
         op == ScalarOp::kNeg;
}

// Returns whether the value divides a float32 by a literal with a normal reciprocal.
bool DividesByLiteral(const ir::Program& program, const ir::Value& value) {
  const auto* division = std::get_if<ir::Elementwise>(&value.op);
  if (division == nullptr || division->op != ScalarOp::kDiv) return false;
  if (value.shape.type != DataType::kFloat32) return false;
  if (program.values[division->operands[0]].shape != value.shape) return false;
  const auto* literal = std::get_if<ir::Constant>(&program.values[division->operands[1]].op);
  if (literal == nullptr) return false;
  const double divisor = std::abs(literal->AsDouble());
  return divisor <= kMaxDivisor && divisor >= 1 / kMaxDivisor;
}

}  // namespace

ir::Program MultiplyByReciprocals(const ir::Program& program) {
  std::vector<bool> is_rounded(program.values.size(), true);  // before anything else reads it
  for (const ValueId output : program.outputs) is_rounded[output] = false;
  bool any = false;
  // Backward order: readers first.
  for (size_t v = program.values.size(); v-- > 0;) {
    const ir::Value& value = program.values[v];
    if (IsRounding(value) || (IsArithmetic(value) && is_rounded[v])) continue;
    any = any || (is_rounded[v] && DividesByLiteral(program, value));
    for (const ValueId operand : ir::Operands(value.op)) is_rounded[operand] = false;
  }
  if (!any) return program;
  Rewriter rewriter(program);
  for (size_t v = 0; v < program.values.size(); ++v) {
    ir::Value value = program.values[v];
    ir::RenumberOperands(value.op, rewriter.numbers());
    if (is_rounded[v] && DividesByLiteral(program, program.values[v])) {
      const ValueId dividend = std::get<ir::Elementwise>(value.op).operands[0];
      const ValueId divisor = std::get<ir::Elementwise>(program.values[v].op).operands[1];
      const double literal = std::get<ir::Constant>(program.values[divisor].op).AsDouble();
      const ValueId reciprocal =
          rewriter.Append({"", {DataType::kFloat32, {}}, ir::Constant{1 / literal}});
      value.op = ir::Elementwise{ScalarOp::kMul, {dividend, reciprocal}};
    }
    rewriter.Replace(std::move(value));
  }
  return std::move(rewriter).Finish();
}

}  // namespace tartan::graph
