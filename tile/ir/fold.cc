#include "tile/ir/fold.h"

#include <algorithm>
#include <vector>

#include "tile/ir/scalar.h"
#include "tile/ir/type_rules.h"

namespace tartan::ir {
namespace {

DataType Widest(DataType type) {
  return IsFloat(type) ? DataType::kFloat64 : IsInteger(type) ? DataType::kInt64 : type;
}

Literal Integer(DataType type, int64_t value) { return {type, {value, false}}; }
Literal Real(DataType type, double value) { return {type, {RoundReal(value, type), false}}; }

int64_t AsInteger(const Literal& literal) { return std::get<int64_t>(literal.constant.value); }
double AsReal(const Literal& literal) { return std::get<double>(literal.constant.value); }

Literal Fold(ScalarOp op, DataType type, absl::Span<const Literal> operands) {
  const Literal& a = operands.front();
  const Literal& b = operands.back();
  if (IsFloat(type)) {
    if (ReturnsBool(op)) return Integer(DataType::kBool, TestReal(op, AsReal(a), AsReal(b)));
    return Real(type, ApplyReal(op, AsReal(a), AsReal(b)));
  }
  const int64_t x = AsInteger(a);
  const int64_t y = AsInteger(b);
  if (ReturnsBool(op)) return Integer(DataType::kBool, TestInteger(op, x, y, type));
  return Integer(type, ApplyInteger(op, x, y, type));
}

}  // namespace

Literal ConvertLiteral(const Literal& literal, DataType type) {
  const bool is_real = std::holds_alternative<double>(literal.constant.value);
  if (IsFloat(type)) {
    if (is_real) return Real(type, AsReal(literal));
    return Real(type, RealFromInteger(AsInteger(literal), literal.type, type));
  }
  if (is_real) return Integer(type, IntegerFromReal(AsReal(literal), type));
  return Integer(type, WrapInteger(static_cast<uint64_t>(AsInteger(literal)), type));
}

Literal FoldLiterals(ScalarOp op, absl::Span<const Literal> operands) {
  const bool is_weak = std::all_of(operands.begin(), operands.end(),
                                   [](const Literal& x) { return x.constant.weak; });
  std::vector<OperandInfo> infos;
  for (const Literal& x : operands) infos.push_back({x.type, x.constant.weak});
  const DataType common = *ElementwiseType(op, infos);
  const DataType type = is_weak ? Widest(common) : common;
  std::vector<Literal> converted;
  for (const Literal& x : operands) converted.push_back(ConvertLiteral(x, ComputeType(type)));
  // Values of 16-bit types are rounded where they are stored, not between two operations.
  if (op == ScalarOp::kSelect) {
    const bool condition = AsInteger(ConvertLiteral(operands[0], DataType::kBool)) != 0;
    Literal chosen = ConvertLiteral(operands[condition ? 1 : 2], ComputeType(type));
    chosen.type = type;
    chosen.constant.weak = is_weak;
    return chosen;
  }
  Literal result = Fold(op, ComputeType(type), converted);
  if (!ReturnsBool(op)) result.type = type;
  result.constant.weak = is_weak && result.type != DataType::kBool;
  return result;
}

}  // namespace tartan::ir
