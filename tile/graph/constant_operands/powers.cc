// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/constant_operands/powers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;

// Returns the exponent; nothing if it is no such literal or the base is converted first.
std::optional<int> ExponentOf(const ir::Program& program, const ir::Value& value) {
  const auto* power = std::get_if<ir::Elementwise>(&value.op);
  if (power == nullptr || power->op != ScalarOp::kPow || !IsFloat(value.shape.type)) return {};
  if (program.values[power->operands[0]].shape != value.shape) return {};
  const auto* literal = std::get_if<ir::Constant>(&program.values[power->operands[1]].op);
  if (literal == nullptr) return {};
  for (const int exponent : {-1, 1, 2, 3, 4}) {
    if (literal->AsDouble() == exponent) return exponent;
  }
  return {};
}

class PowerRewriter {
 public:
  explicit PowerRewriter(const ir::Program& program) : program_(program), rewriter_(program) {}

  ir::Program Run() && {
    for (ir::Value value : program_.values) {
      const std::optional<int> exponent = ExponentOf(program_, value);
      ir::RenumberOperands(value.op, rewriter_.numbers());
      if (exponent) value.op = Product(value, *exponent);
      rewriter_.Replace(std::move(value));
    }
    return std::move(rewriter_).Finish();
  }

 private:
  ir::Elementwise Product(const ir::Value& power, int exponent) {
    const ValueId base = std::get<ir::Elementwise>(power.op).operands[0];
    if (exponent == -1) return {ScalarOp::kRecip, {base}};
    if (exponent == 1) return {ScalarOp::kIdentity, {base}};
    if (exponent == 2) return {ScalarOp::kMul, {base, base}};
    const ValueId square =
        rewriter_.Append({"", power.shape, ir::Elementwise{ScalarOp::kMul, {base, base}}});
    return {ScalarOp::kMul, {square, exponent == 3 ? base : square}};
  }

  const ir::Program& program_;
  Rewriter rewriter_;
};

}  // namespace

ir::Program ExpandPowers(const ir::Program& program) {
  const bool has_powers =
      std::any_of(program.values.begin(), program.values.end(),
                  [&](const ir::Value& value) { return ExponentOf(program, value).has_value(); });
  return has_powers ? PowerRewriter(program).Run() : program;
}

}  // namespace tartan::graph
