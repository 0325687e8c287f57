// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/build.h"

#include <algorithm>
#include <utility>

#include "tile/base/scalar_value.h"

namespace tartan::loop {
namespace {

template <class Node>
ExprPtr MakeExpr(Type type, Node node) {
  return std::make_shared<const Expr>(Expr{type, std::move(node)});
}

template <class Node>
StmtPtr MakeStmt(Node node) {
  return std::make_shared<const Stmt>(Stmt{std::move(node)});
}

bool IsIntLiteral(const ExprPtr& expr) { return std::holds_alternative<IntLiteral>(expr->node); }

bool IsIntegerOrBool(Type type) {
  return IsInteger(type.element) || type.element == DataType::kBool;
}

ExprPtr IntOfType(int64_t value, Type type) {
  return MakeExpr(type, IntLiteral{NormalizeScalar(Scalar{value, 0}, type.element).integer});
}

// Converts the operand to `type` if it is an integer constant or a scalar to splat.
ExprPtr Adapt(const ExprPtr& operand, Type type) {
  if (operand->type == type) return operand;
  if (const auto value = LiteralValue(operand)) {
    return IsFloat(type.element)
               ? Splat(Float(static_cast<double>(*value), type.element), type.lanes)
               : IntOfType(*value, type);
  }
  if (operand->type.lanes == 1 && type.lanes > 1) return Splat(operand, type.lanes);
  return operand;
}

// The common type of the operands: the element type of the first one that is not an integer
// constant, with the maximum lanes.
Type CommonType(absl::Span<const ExprPtr> operands) {
  Type type = operands[0]->type;
  bool found = false;
  int lanes = 1;
  for (const ExprPtr& operand : operands) {
    lanes = std::max(lanes, operand->type.lanes);
    if (!found && !IsIntLiteral(operand)) {
      type = operand->type;
      found = true;
    }
  }
  type.lanes = lanes;
  return type;
}

// Folds an integer operation on constants, or returns null. A vector condition is not folded: the
// operands of the comparison determine the width of its mask.
ExprPtr Fold(ScalarOp op, Type type, absl::Span<const ExprPtr> operands) {
  if (type.element == DataType::kBool && type.lanes > 1) return nullptr;
  std::vector<Scalar> values;
  for (const ExprPtr& operand : operands) {
    const auto value = LiteralValue(operand);
    if (!value) return nullptr;
    values.push_back(Scalar{*value, 0});
  }
  const DataType operand_type = operands.back()->type.element;
  if (!IsDefined(op, operand_type)) return nullptr;
  const Scalar result = EvaluateScalar(op, operand_type, values);
  return MakeExpr(type, IntLiteral{result.integer});
}

// Simplifies x op constant or constant op x if the result is an operand or a constant; else null.
ExprPtr ApplyIdentity(ScalarOp op, const ExprPtr& a, const ExprPtr& b) {
  const auto left = LiteralValue(a);
  const auto right = LiteralValue(b);
  switch (op) {
    case ScalarOp::kAdd:
      if (left == 0) return b;
      if (right == 0) return a;
      break;
    case ScalarOp::kSub:
      if (right == 0) return a;
      break;
    case ScalarOp::kMul:
      if (left == 1) return b;
      if (right == 1) return a;
      if (left == 0) return a;
      if (right == 0) return b;
      break;
    case ScalarOp::kDiv:
      if (right == 1) return a;
      if (left == 0) return a;
      break;
    case ScalarOp::kMod:
    case ScalarOp::kFmod:
      if (right == 1 && a->type.element != DataType::kBool) return IntOfType(0, a->type);
      if (left == 0) return a;
      break;
    case ScalarOp::kLogicalAnd:
      if (left == 1) return b;
      if (right == 1) return a;
      if (left == 0) return a;
      if (right == 0) return b;
      break;
    case ScalarOp::kLogicalOr:
      if (left == 0) return b;
      if (right == 0) return a;
      if (left == 1) return a;
      if (right == 1) return b;
      break;
    default:
      break;
  }
  return nullptr;
}

// (x + c1) + c2 → x + (c1 + c2), also with subtractions; null if the pattern does not match.
ExprPtr FoldConstantSum(ScalarOp op, const ExprPtr& a, const ExprPtr& b) {
  if (op != ScalarOp::kAdd && op != ScalarOp::kSub) return nullptr;
  if (!IsInteger(a->type.element)) return nullptr;
  const auto outer = LiteralValue(b);
  const auto* inner = std::get_if<Apply>(&a->node);
  if (!outer || inner == nullptr) return nullptr;
  if (inner->op != ScalarOp::kAdd && inner->op != ScalarOp::kSub) return nullptr;
  const auto inner_value = LiteralValue(inner->operands[1]);
  if (!inner_value) return nullptr;
  const auto signed_value = [](ScalarOp o, int64_t v) {
    const auto bits = static_cast<uint64_t>(v);
    return o == ScalarOp::kSub ? uint64_t{0} - bits : bits;
  };
  const uint64_t sum = signed_value(op, *outer) + signed_value(inner->op, *inner_value);
  return Add(inner->operands[0], IntOfType(static_cast<int64_t>(sum), a->type));
}

// False in all lanes, as a comparison of integers, which determines the mask's width.
ExprPtr FalseMask(int lanes) {
  return ApplyOp(ScalarOp::kNotEqual, {Splat(Int(0), lanes), Int(0)});
}

// Expresses an arithmetic operation on masks by logic; null if it is logic already. Bools compute
// with 0 and 1, and every result but 0 counts as 1.
ExprPtr ApplyToMasks(ScalarOp op, absl::Span<const ExprPtr> operands) {
  const ExprPtr& a = operands.front();
  const ExprPtr& b = operands.back();
  switch (op) {
    case ScalarOp::kSelect:
    case ScalarOp::kLogicalNot:
    case ScalarOp::kLogicalAnd:
    case ScalarOp::kLogicalOr:
    case ScalarOp::kEqual:
    case ScalarOp::kNotEqual:
      return nullptr;
    case ScalarOp::kBitNot:
      return Not(a);
    case ScalarOp::kAdd:
    case ScalarOp::kMax:
    case ScalarOp::kBitOr:
      return Or(a, b);
    case ScalarOp::kMul:
    case ScalarOp::kDiv:  // by 0 gives 0
    case ScalarOp::kMin:
    case ScalarOp::kBitAnd:
      return And(a, b);
    case ScalarOp::kSub:
    case ScalarOp::kBitXor:
      return ApplyOp(ScalarOp::kNotEqual, {a, b});
    case ScalarOp::kPow:
    case ScalarOp::kGreaterEqual:
      return Or(a, Not(b));
    case ScalarOp::kGreater:
      return And(a, Not(b));
    case ScalarOp::kLess:
      return And(Not(a), b);
    case ScalarOp::kLessEqual:
      return Or(Not(a), b);
    case ScalarOp::kMod:
    case ScalarOp::kFmod:
    case ScalarOp::kIsNan:
    case ScalarOp::kIsInf:
      return FalseMask(a->type.lanes);
    default:
      return a;  // sign, absolute value and rounding leave 0 and 1 unchanged
  }
}

}  // namespace

std::optional<int64_t> LiteralValue(const ExprPtr& expr) {
  const auto* literal = std::get_if<IntLiteral>(&expr->node);
  if (literal == nullptr) return std::nullopt;
  return literal->value;
}

ExprPtr Int(int64_t value, DataType type) { return IntOfType(value, Type{type, 1}); }

ExprPtr Float(double value, DataType type) {
  return MakeExpr(Type{type, 1}, FloatLiteral{NormalizeScalar(Scalar{0, value}, type).real});
}

ExprPtr Bool(bool value) { return Int(value ? 1 : 0, DataType::kBool); }

ExprPtr Var(std::string name, Type type) { return MakeExpr(type, Variable{std::move(name)}); }

ExprPtr LoadFrom(std::string buffer, DataType stored, ExprPtr index, int lanes, bool is_aligned) {
  return MakeExpr(Type{ComputeType(stored), lanes},
                  Load{std::move(buffer), stored, std::move(index), is_aligned});
}

ExprPtr ApplyOp(ScalarOp op, std::vector<ExprPtr> operands) {
  if (op == ScalarOp::kIdentity) return operands[0];
  const bool select = op == ScalarOp::kSelect;
  const auto values = absl::MakeSpan(operands).subspan(select ? 1 : 0);
  Type type = CommonType(values);
  if (select) type.lanes = std::max(type.lanes, operands[0]->type.lanes);
  for (ExprPtr& operand : values) operand = Adapt(operand, type);
  if (select) {
    if (const auto condition = LiteralValue(operands[0])) return operands[*condition ? 1 : 2];
  }
  if (type.element == DataType::kBool && type.lanes > 1) {
    if (ExprPtr logic = ApplyToMasks(op, operands)) return logic;
  }
  const Type result{ResultType(op, type.element), type.lanes};
  if (IsIntegerOrBool(type) && !IsOfKernels(op)) {
    if (ExprPtr folded = Fold(op, result, operands)) return folded;
    if (operands.size() == 2) {
      if (ExprPtr same = ApplyIdentity(op, operands[0], operands[1])) return same;
      if (ExprPtr joined = FoldConstantSum(op, operands[0], operands[1])) return joined;
    }
  }
  return MakeExpr(result, Apply{op, std::move(operands)});
}

ExprPtr Add(ExprPtr a, ExprPtr b) { return ApplyOp(ScalarOp::kAdd, {std::move(a), std::move(b)}); }
ExprPtr Sub(ExprPtr a, ExprPtr b) { return ApplyOp(ScalarOp::kSub, {std::move(a), std::move(b)}); }
ExprPtr Mul(ExprPtr a, ExprPtr b) { return ApplyOp(ScalarOp::kMul, {std::move(a), std::move(b)}); }
ExprPtr Div(ExprPtr a, ExprPtr b) { return ApplyOp(ScalarOp::kDiv, {std::move(a), std::move(b)}); }

// For non-negative operands the C remainder equals the modulus, and takes one instruction.
ExprPtr Mod(ExprPtr a, ExprPtr b) { return ApplyOp(ScalarOp::kFmod, {std::move(a), std::move(b)}); }

ExprPtr Min(ExprPtr a, ExprPtr b) { return ApplyOp(ScalarOp::kMin, {std::move(a), std::move(b)}); }
ExprPtr Max(ExprPtr a, ExprPtr b) { return ApplyOp(ScalarOp::kMax, {std::move(a), std::move(b)}); }

ExprPtr And(ExprPtr a, ExprPtr b) {
  return ApplyOp(ScalarOp::kLogicalAnd, {std::move(a), std::move(b)});
}

ExprPtr Or(ExprPtr a, ExprPtr b) {
  return ApplyOp(ScalarOp::kLogicalOr, {std::move(a), std::move(b)});
}

ExprPtr Not(ExprPtr a) { return ApplyOp(ScalarOp::kLogicalNot, {std::move(a)}); }
ExprPtr Less(ExprPtr a, ExprPtr b) {
  return ApplyOp(ScalarOp::kLess, {std::move(a), std::move(b)});
}

ExprPtr LessEqual(ExprPtr a, ExprPtr b) {
  return ApplyOp(ScalarOp::kLessEqual, {std::move(a), std::move(b)});
}

ExprPtr Equals(ExprPtr a, ExprPtr b) {
  return ApplyOp(ScalarOp::kEqual, {std::move(a), std::move(b)});
}

ExprPtr Select(ExprPtr condition, ExprPtr a, ExprPtr b) {
  return ApplyOp(ScalarOp::kSelect, {std::move(condition), std::move(a), std::move(b)});
}

ExprPtr MulAdd(ExprPtr a, ExprPtr b, ExprPtr accumulator) {
  const Type type = accumulator->type;
  return MakeExpr(type, MultiplyAdd{Adapt(a, type), Adapt(b, type), std::move(accumulator)});
}

ExprPtr Cast(ExprPtr value, DataType type) {
  if (value->type.element == type) return value;
  const Type result{type, value->type.lanes};
  if (const auto literal = LiteralValue(value)) {
    const Scalar converted = ConvertScalar(Scalar{*literal, 0}, value->type.element, type);
    if (IsFloat(type)) return MakeExpr(result, FloatLiteral{converted.real});
    return MakeExpr(result, IntLiteral{converted.integer});
  }
  return MakeExpr(result, Apply{ScalarOp::kCast, {std::move(value)}});
}

ExprPtr Splat(ExprPtr scalar, int lanes) {
  const Type type{scalar->type.element, lanes};
  if (scalar->type == type) return scalar;
  if (const auto value = LiteralValue(scalar)) return MakeExpr(type, IntLiteral{*value});
  if (const auto* value = std::get_if<FloatLiteral>(&scalar->node)) return MakeExpr(type, *value);
  return MakeExpr(type, Apply{ScalarOp::kCast, {std::move(scalar)}});
}

ExprPtr LaneOf(ExprPtr vector, int lane) {
  const Type type{vector->type.element, 1};
  if (vector->type == type) return vector;
  return MakeExpr(type, Lane{std::move(vector), lane});
}

ExprPtr MakeShuffle(ExprPtr a, ExprPtr b, std::vector<int> lanes) {
  const Type type{a->type.element, static_cast<int>(lanes.size())};
  return MakeExpr(type, Shuffle{std::move(a), std::move(b), std::move(lanes)});
}

ExprPtr Work(WorkId id, int dimension, DataType index_type) {
  return MakeExpr(Type{index_type, 1}, WorkIndex{id, dimension});
}

StmtPtr MakeBlock(std::vector<StmtPtr> statements) {
  std::vector<StmtPtr> joined;
  for (StmtPtr& statement : statements) {
    if (statement == nullptr) continue;
    if (const auto* block = std::get_if<Block>(&statement->node)) {
      joined.insert(joined.end(), block->statements.begin(), block->statements.end());
    } else {
      joined.push_back(std::move(statement));
    }
  }
  return MakeStmt(Block{std::move(joined)});
}

StmtPtr MakeDeclare(Type type, std::string name, ExprPtr value, bool is_mutable) {
  if (value != nullptr) value = Adapt(value, type);
  return MakeStmt(Declare{type, std::move(name), std::move(value), is_mutable});
}

StmtPtr MakeArray(Type type, std::string name, int64_t size, Space space, std::string over,
                  int64_t alignment) {
  return MakeStmt(DeclareArray{type, std::move(name), size, space, std::move(over), alignment});
}

StmtPtr MakeAssign(std::string name, ExprPtr value) {
  return MakeStmt(Assign{std::move(name), std::move(value)});
}

StmtPtr MakeStore(std::string buffer, DataType stored, ExprPtr index, ExprPtr value,
                  bool is_aligned, bool is_streamed) {
  return MakeStmt(Store{std::move(buffer), stored, std::move(index), std::move(value), is_aligned,
                        is_streamed});
}

StmtPtr MakeFor(std::string name, ExprPtr begin, ExprPtr end, StmtPtr body, int64_t step,
                bool unroll) {
  begin = Adapt(begin, end->type);
  return MakeStmt(
      For{std::move(name), std::move(begin), std::move(end), step, std::move(body), unroll});
}

StmtPtr MakeIf(ExprPtr condition, StmtPtr then, StmtPtr otherwise) {
  return MakeStmt(If{std::move(condition), std::move(then), std::move(otherwise)});
}

StmtPtr MakeBarrier(bool is_global) { return MakeStmt(Barrier{is_global}); }

StmtPtr MakeMmaBarrier() { return MakeStmt(Barrier{false, true}); }

StmtPtr MakeAtomicUpdate(std::string buffer, DataType stored, ScalarOp op, ExprPtr index,
                         ExprPtr value) {
  return MakeStmt(AtomicUpdate{std::move(buffer), stored, op, std::move(index), std::move(value)});
}

StmtPtr MakePrefetch(std::string buffer, DataType stored, ExprPtr index,
                     bool into_second_cache_only) {
  return MakeStmt(Prefetch{std::move(buffer), stored, std::move(index), into_second_cache_only});
}

StmtPtr MakeTileStore(std::string buffer, MatrixFormat format, ExprPtr index, ExprPtr value) {
  Store store{std::move(buffer), ElementType(format), std::move(index), std::move(value), true};
  store.rounds_to_tf32 = format == MatrixFormat::kTf32;
  return MakeStmt(std::move(store));
}

StmtPtr MakeCopyVector(ExprPtr to, ExprPtr from, ExprPtr count) {
  return MakeStmt(CopyVector{std::move(to), std::move(from), std::move(count)});
}

StmtPtr MakeEndCopies() { return MakeStmt(EndCopies{}); }

StmtPtr MakeAwaitCopies(int pending) { return MakeStmt(AwaitCopies{pending}); }

StmtPtr MakeMultiplyTiles(MultiplyTiles product) { return MakeStmt(std::move(product)); }

StmtPtr MakeAwaitTiles() { return MakeStmt(AwaitTiles{}); }

StmtPtr MakeEarly(StmtPtr body) { return MakeStmt(Early{std::move(body)}); }

StmtPtr MakeOnce(StmtPtr body) { return MakeStmt(Once{std::move(body)}); }

StmtPtr MakeFetch(ExprPtr input, ExprPtr output, StmtPtr body) {
  return MakeStmt(Fetch{std::move(input), std::move(output), std::move(body)});
}

StmtPtr MakeComment(std::string text) { return MakeStmt(Comment{std::move(text)}); }

}  // namespace tartan::loop
