// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/expression_binder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/base/match.h"
#include "tile/base/status_macros.h"
#include "tile/lang/custom_gradient.h"
#include "tile/lang/intrinsics.h"
#include "tile/lang/plaidml_names.h"
#include "tile/math/integer.h"

namespace tartan::lang {
namespace {

class ExpressionBinder {
 public:
  // A name that is both a size and a tensor denotes the size if `is_size`, else the tensor.
  ExpressionBinder(const std::string& target, Scope& scope, bool is_size)
      : target_(target), scope_(scope), is_size_(is_size) {}

  absl::StatusOr<Bound> Bind(const Expr& expr, bool is_root) {
    return Match(
        expr.node,
        [&](const IntLiteral& x) -> absl::StatusOr<Bound> {
          return Bound{CompileTimeScalar{x.value}};
        },
        [&](const FloatLiteral& x) -> absl::StatusOr<Bound> {
          return Bound{CompileTimeScalar{x.value}};
        },
        [&](const Name& x) { return BindName(x, expr.position); },
        [&](const Call& x) { return BindCall(x, expr.position, is_root); });
  }

 private:
  absl::StatusOr<Bound> BindName(const Name& name, Position position);
  absl::StatusOr<Bound> BindCall(const Call& call, Position position, bool is_root);
  absl::StatusOr<Bound> BindScalarOp(ScalarOp op, const BoundCall& call);
  absl::Status UnknownFunction(const Call& call, Position position);

  // The branch that a compile-time condition selects, if the other one would not change the type or
  // shape.
  const Bound* ChosenBranch(const BoundCall& call) const;

  const std::string& target_;
  Scope& scope_;
  bool is_size_;
};

absl::StatusOr<Bound> ExpressionBinder::BindName(const Name& name, Position position) {
  if (!IsTensorName(name.name)) {
    return scope_.Error(position,
                        absl::StrCat("'", name.name,
                                     "' is an index variable, which can be used in contractions "
                                     "only: tensors and sizes begin with a capital"));
  }
  TARTAN_ASSIGN_OR_RETURN(const Definition* definition,
                          scope_.Resolve(name.name, position, is_size_));
  return definition->bound;
}

absl::Status ExpressionBinder::UnknownFunction(const Call& call, Position position) {
  if (IsTensorName(call.function) && scope_.Find(call.function) != nullptr) {
    return scope_.Error(position, absl::StrCat("'", call.function,
                                               "' is not a function: multiplication needs a '*'"));
  }
  const absl::string_view advice = AdviceOnFunction(call.function);
  if (!advice.empty()) {
    return scope_.Error(position,
                        absl::StrCat("there is no function '", call.function, "': ", advice));
  }
  const std::string nearest = NearestName(call.function, FunctionNames());
  return scope_.Error(position, absl::StrCat("there is no function '", call.function, "'",
                                             nearest.empty() ? "" : ": did you mean '", nearest,
                                             nearest.empty() ? "" : "'?"));
}

absl::StatusOr<Bound> ExpressionBinder::BindCall(const Call& call, Position position,
                                                 bool is_root) {
  const std::optional<ScalarOp> op = ScalarFunction(call.function);
  if (!op.has_value() && !IsIntrinsic(call.function)) return UnknownFunction(call, position);
  std::vector<Bound> arguments;
  std::vector<Position> positions;
  absl::Status status;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const Expr& argument = *call.arguments[i];
    // The name of a rule is not bound. Errors of all arguments are reported.
    absl::StatusOr<Bound> bound = Bound{Failed()};
    if (call.function != kCustomGradient || i != 1) bound = Bind(argument, false);
    status.Update(bound.status());
    if (bound.ok()) arguments.push_back(*std::move(bound));
    positions.push_back(argument.position);
  }
  TARTAN_RETURN_IF_ERROR(status);
  BoundCall bound_call{call.function, position, arguments, positions, ""};
  const auto is_scalar = [](const Bound& bound) { return bound.scalar() != nullptr; };
  if (op.has_value() && std::all_of(arguments.begin(), arguments.end(), is_scalar)) {
    std::vector<CompileTimeScalar> scalars;
    for (const Bound& argument : arguments) scalars.push_back(*argument.scalar());
    const auto folded = FoldCall(tartan::Name(*op), scalars);
    if (!folded.ok()) return scope_.At(position, folded.status());
    if (folded->has_value()) return Bound{**folded};
  }
  bound_call.name = is_root ? std::string(PlainName(target_)) : scope_.IntermediateName(target_);
  if (op.has_value()) return BindScalarOp(*op, bound_call);
  if (call.function == kCustomGradient) return BindCustomGradient(call, bound_call, scope_);
  return BindIntrinsic(bound_call, scope_);
}

const Bound* ExpressionBinder::ChosenBranch(const BoundCall& call) const {
  const CompileTimeScalar* condition = call.arguments[0].scalar();
  const ir::ValueId* yes = call.arguments[1].tensor();
  const ir::ValueId* no = call.arguments[2].tensor();
  if (condition == nullptr || yes == nullptr || no == nullptr) return nullptr;
  if (scope_.builder().shape(*yes) != scope_.builder().shape(*no)) return nullptr;
  return condition->IsTrue() ? &call.arguments[1] : &call.arguments[2];
}

absl::StatusOr<Bound> ExpressionBinder::BindScalarOp(ScalarOp op, const BoundCall& call) {
  const int wanted = OperandCount(op);
  if (static_cast<int>(call.arguments.size()) != wanted) {
    return scope_.Error(call.position, absl::StrCat(call.function, " takes ", wanted,
                                                    wanted == 1 ? " argument" : " arguments",
                                                    ", not ", call.arguments.size()));
  }
  if (op == ScalarOp::kSelect) {
    if (const Bound* branch = ChosenBranch(call)) return *branch;
  }
  std::vector<ir::ValueId> operands;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    TARTAN_ASSIGN_OR_RETURN(const ir::ValueId operand,
                            scope_.Tensor(call.arguments[i], call.argument_positions[i]));
    operands.push_back(operand);
  }
  absl::StatusOr<ir::ValueId> value = scope_.builder().AddElementwise(op, operands, call.name);
  if (!value.ok()) return scope_.At(call.position, value.status());
  return Bound{*value};
}

class PolynomialBinder {
 public:
  PolynomialBinder(Scope& scope, IndexNames& names) : scope_(scope), names_(names) {}

  absl::StatusOr<math::Affine> Bind(const Expr& expr) {
    return Match(
        expr.node,
        [&](const IntLiteral& x) -> absl::StatusOr<math::Affine> {
          return math::Affine::Constant(x.value);
        },
        [&](const FloatLiteral&) -> absl::StatusOr<math::Affine> {
          return scope_.Error(expr.position,
                              "index polynomials have integer coefficients: divide by an integer "
                              "instead");
        },
        [&](const Name& x) { return BindName(x, expr.position); },
        [&](const Call& x) { return BindCall(x, expr.position); });
  }

 private:
  absl::StatusOr<math::Affine> BindName(const Name& name, Position position);
  absl::StatusOr<math::Affine> BindCall(const Call& call, Position position);
  absl::Status NotForPolynomials(const Call& call, Position position);

  Scope& scope_;
  IndexNames& names_;
};

absl::StatusOr<math::Affine> PolynomialBinder::BindName(const Name& name, Position position) {
  if (IsTensorName(name.name)) {
    const Expr expr{position, name};
    TARTAN_ASSIGN_OR_RETURN(
        const int64_t size,
        BindSize(expr, absl::StrCat("'", name.name, "' in an index polynomial"), scope_));
    return math::Affine::Constant(size);
  }
  const auto it = std::find(names_.begin(), names_.end(), name.name);
  const int index = static_cast<int>(it - names_.begin());
  if (it == names_.end()) names_.push_back(name.name);
  return math::Affine::Variable(index);
}

absl::Status PolynomialBinder::NotForPolynomials(const Call& call, Position position) {
  return scope_.Error(
      position,
      absl::StrCat("'", call.function,
                   "' is not allowed in an index polynomial, which has +, -, * and / only"));
}

absl::StatusOr<math::Affine> PolynomialBinder::BindCall(const Call& call, Position position) {
  std::vector<math::Affine> operands;
  for (const ExprPtr& argument : call.arguments) {
    TARTAN_ASSIGN_OR_RETURN(math::Affine operand, Bind(*argument));
    operands.push_back(std::move(operand));
  }
  if (call.function == "neg" && operands.size() == 1) return -operands[0];
  if (operands.size() != 2) return NotForPolynomials(call, position);
  math::Affine& a = operands[0];
  math::Affine& b = operands[1];
  if (call.function == "add") return a + b;
  if (call.function == "sub") return a - b;
  if (call.function == "mul") {
    if (!a.is_constant()) std::swap(a, b);
    if (a.is_constant()) return b * a.constant;
    return scope_.Error(
        position, "the index polynomial is not linear: one factor must be a number or a size");
  }
  if (call.function != "div") return NotForPolynomials(call, position);
  if (!b.is_constant()) {
    return scope_.Error(position, "an index polynomial can be divided by a number or a size only");
  }
  if (b.constant.is_zero())
    return scope_.Error(position, "division by zero in an index polynomial");
  return a * (math::Rational(1) / b.constant);
}

}  // namespace

absl::StatusOr<Bound> BindExpression(const Expr& expr, const std::string& target, Scope& scope) {
  return ExpressionBinder(target, scope, /*is_size=*/false).Bind(expr, true);
}

absl::StatusOr<int64_t> BindSize(const Expr& expr, const std::string& what, Scope& scope) {
  const std::string target = "size";
  TARTAN_ASSIGN_OR_RETURN(const Bound bound,
                          ExpressionBinder(target, scope, /*is_size=*/true).Bind(expr, true));
  const std::optional<CompileTimeScalar> scalar = scope.Number(bound);
  if (!scalar.has_value()) {
    return scope.Error(expr.position, absl::StrCat(what,
                                                   " must be known at compile time: it may "
                                                   "use sizes and numbers, not tensors"));
  }
  if (const std::optional<int64_t> value = scalar->AsInteger()) return *value;
  return scope.Error(expr.position,
                     absl::StrCat(what, " must be an integer, not ", scalar->ToString()));
}

namespace {

// Returns whether the polynomial has integer coefficients of 64 bits over one common denominator.
bool FitsOverOneDenominator(const math::Affine& poly) {
  math::Rational denominator(poly.constant.denominator(), 1);
  for (const math::Rational& coefficient : poly.coefficients) {
    if (!denominator.valid()) return false;
    const int64_t shared = math::Gcd(denominator.numerator(), coefficient.denominator());
    denominator = denominator * math::Rational(coefficient.denominator() / shared, 1);
  }
  return denominator.valid() && (poly * denominator).valid();
}

}  // namespace

absl::StatusOr<math::Affine> BindPolynomial(const Expr& expr, Scope& scope, IndexNames& names) {
  TARTAN_ASSIGN_OR_RETURN(math::Affine poly, PolynomialBinder(scope, names).Bind(expr));
  if (!poly.valid() || !FitsOverOneDenominator(poly)) {
    return scope.Error(expr.position, "a coefficient of the index polynomial overflows 64 bits");
  }
  const bool integer_coefficients =
      std::all_of(poly.coefficients.begin(), poly.coefficients.end(),
                  [](const math::Rational& x) { return x.is_integer(); });
  if (integer_coefficients && !poly.constant.is_integer()) {
    return scope.Error(
        expr.position,
        absl::StrCat("the index polynomial is never an integer, because '/' is exact "
                     "here and leaves ",
                     poly.constant.ToString(),
                     ": assign the truncated size to a name first, as in H = N / 2"));
  }
  return poly;
}

}  // namespace tartan::lang
