// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/intrinsics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/lang/composed_functions.h"
#include "tile/lang/custom_gradient.h"

namespace tartan::lang {
namespace {

constexpr int kAny = -1;

// A special operation: tensors first, then compile-time integers.
struct SpecialRow {
  absl::string_view name;
  ir::SpecialKind kind;
  int tensors;
  int min_params;
  int max_params;   // kAny: no limit
  int axis_tensor;  // the tensor of which params[0] is an axis; kAny: params[0] is not an axis
  absl::string_view usage;
};

using Kind = ir::SpecialKind;
constexpr SpecialRow kSpecials[] = {
    {"reshape", Kind::kReshape, 1, 0, kAny, kAny, "reshape(T, size, ...)"},
    {"index", Kind::kIndex, 1, 1, 1, 0, "index(T, axis)"},
    {"gather", Kind::kGather, 2, 0, 1, 0, "gather(T, indices[, axis])"},
    {"gather_elements", Kind::kGatherElements, 2, 0, 1, 0, "gather_elements(T, indices[, axis])"},
    {"gather_nd", Kind::kGatherNd, 2, 0, 1, kAny, "gather_nd(T, indices[, batch_dims])"},
    {"scatter", Kind::kScatter, 3, 0, 0, kAny, "scatter(values, indices, like)"},
    {"scatter_elements", Kind::kScatterElements, 3, 0, 2, 0,
     "scatter_elements(T, indices, updates[, axis[, mode]])"},
    {"scatter_nd", Kind::kScatterNd, 3, 0, 1, kAny, "scatter_nd(T, indices, updates[, mode])"},
    {"sort", Kind::kSort, 1, 1, 2, 0, "sort(T, axis[, descending])"},
    {"argsort", Kind::kArgSort, 1, 1, 3, 0, "argsort(T, axis[, descending[, count]])"},
    {"cumsum", Kind::kCumSum, 1, 1, 3, 0, "cumsum(T, axis[, exclusive[, reverse]])"},
    {"cumprod", Kind::kCumProd, 1, 1, 3, 0, "cumprod(T, axis[, exclusive[, reverse]])"},
    {"prng", Kind::kPrng, 1, 0, kAny, kAny, "prng(seed, size, ...)"}};

// Functions without a special operation of their own.
constexpr absl::string_view kOthers[] = {
    "as_bfloat", "as_bool", "as_float",      "as_int", "as_uint",   "element", kCustomGradient,
    "mad",       "shape",   "stop_gradient", "tuple",  "broadcast", "match"};
constexpr absl::string_view kAssert = "assert_";
constexpr absl::string_view kBroadcast = "broadcast";
constexpr absl::string_view kMatch = "match";

const SpecialRow* FindSpecial(absl::string_view function) {
  for (const SpecialRow& row : kSpecials) {
    if (row.name == function) return &row;
  }
  return nullptr;
}

absl::Status WrongCount(const BoundCall& call, Scope& scope, absl::string_view usage) {
  return scope.Error(call.position, absl::StrCat(call.function, " is called as ", usage,
                                                 ", not with ", call.arguments.size(), " argument",
                                                 call.arguments.size() == 1 ? "" : "s"));
}

absl::StatusOr<int64_t> IntegerArgument(const BoundCall& call, size_t i, Scope& scope) {
  const std::optional<CompileTimeScalar> scalar = scope.Number(call.arguments[i]);
  const std::optional<int64_t> value = scalar.has_value() ? scalar->AsInteger() : std::nullopt;
  if (value.has_value()) return *value;
  return scope.Error(call.argument_positions[i],
                     absl::StrCat("argument ", i + 1, " of ", call.function,
                                  " must be an integer known at compile time",
                                  scalar.has_value() ? ", not " : ", not a tensor",
                                  scalar.has_value() ? scalar->ToString() : ""));
}

absl::StatusOr<Bound> BindSpecial(const BoundCall& call, const SpecialRow& row, Scope& scope) {
  const int count = static_cast<int>(call.arguments.size());
  const int params_given = count - row.tensors;
  if (params_given < row.min_params || (row.max_params != kAny && params_given > row.max_params)) {
    return WrongCount(call, scope, row.usage);
  }
  std::vector<ir::ValueId> tensors;
  std::vector<int64_t> params;
  for (int i = 0; i < count; ++i) {
    if (i < row.tensors) {
      TARTAN_ASSIGN_OR_RETURN(const ir::ValueId tensor,
                              scope.Tensor(call.arguments[i], call.argument_positions[i]));
      tensors.push_back(tensor);
    } else {
      TARTAN_ASSIGN_OR_RETURN(const int64_t param, IntegerArgument(call, i, scope));
      params.push_back(param);
    }
  }
  if (row.max_params != kAny) params.resize(row.max_params, 0);
  if (row.axis_tensor != kAny) {
    const TensorShape& shape = scope.builder().shape(tensors[row.axis_tensor]);
    int64_t& axis = params[0];
    if (axis < -shape.rank() || axis >= shape.rank()) {
      return scope.Error(
          params_given > 0 ? call.argument_positions[row.tensors] : call.position,
          absl::StrCat(call.function, " has no axis ", axis, ": the tensor is ", shape.ToString()));
    }
    if (axis < 0) axis += shape.rank();
  }
  absl::StatusOr<ir::ValueId> value =
      scope.builder().AddSpecial(row.kind, tensors, params, call.name);
  if (!value.ok()) return scope.At(call.position, value.status());
  return Bound{*value};
}

// The type that a cast names by family and bits; kInvalid if there is none.
DataType CastType(absl::string_view function, int64_t bits) {
  const absl::string_view family = function.substr(3);  // after "as_"
  return DataTypeFromName(absl::StrCat(family, bits));
}

// The size to which sizes broadcast (broadcast), or the size that all must equal (match). A
// compile-time number.
absl::StatusOr<Bound> BindCommonSize(const BoundCall& call, Scope& scope) {
  const bool may_be_one = call.function == kBroadcast;
  int64_t common = 1;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    TARTAN_ASSIGN_OR_RETURN(const int64_t size, IntegerArgument(call, i, scope));
    const bool gives_way = i == 0 || (may_be_one && common == 1);
    if (gives_way) {
      common = size;
    } else if (size != common && !(may_be_one && size == 1)) {
      return scope.Error(call.argument_positions[i],
                         absl::StrCat("the sizes ", common, " and ", size,
                                      may_be_one ? " do not broadcast" : " differ"));
    }
  }
  if (call.arguments.empty()) {
    return WrongCount(call, scope, absl::StrCat(call.function, "(size, ...)"));
  }
  return Bound{CompileTimeScalar{common}};
}

// A constant can take its type without a cast if the type represents it exactly.
bool HoldsExactly(DataType type, const CompileTimeScalar& scalar) {
  if (type == DataType::kFloat32 || type == DataType::kFloat64) {
    return !scalar.is_integer() || std::fabs(scalar.AsDouble()) <= 16777216.0;
  }
  const std::optional<int64_t> integer = scalar.AsInteger();
  return IsInteger(type) && integer.has_value() &&
         std::fabs(scalar.AsDouble()) <= 4503599627370496.0 && MinInteger(type) <= *integer &&
         (type == DataType::kUInt64 || *integer <= MaxInteger(type)) &&
         (*integer >= 0 || IsSignedInteger(type));
}

absl::StatusOr<Bound> BindCast(const BoundCall& call, Scope& scope) {
  const bool sized = call.function != "as_bool" && call.function != "as_bfloat";
  if (call.arguments.size() != (sized ? 2 : 1)) {
    return WrongCount(call, scope, absl::StrCat(call.function, sized ? "(x, bits)" : "(x)"));
  }
  DataType type = call.function == "as_bool" ? DataType::kBool : DataType::kBFloat16;
  if (sized) {
    TARTAN_ASSIGN_OR_RETURN(const int64_t bits, IntegerArgument(call, 1, scope));
    type = CastType(call.function, bits);
    if (type == DataType::kInvalid) {
      return scope.Error(
          call.argument_positions[1],
          absl::StrCat(call.function, " cannot have ", bits, " bits: use ",
                       call.function == "as_float" ? "16, 32 or 64" : "8, 16, 32 or 64"));
    }
  }
  const CompileTimeScalar* scalar = call.arguments[0].scalar();
  if (scalar != nullptr && type == DataType::kBool) {
    return Bound{CompileTimeScalar{int64_t{scalar->IsTrue()}, true}};
  }
  if (scalar != nullptr && HoldsExactly(type, *scalar)) {
    return Bound{scope.builder().AddConstant(type, scalar->AsDouble())};
  }
  TARTAN_ASSIGN_OR_RETURN(const ir::ValueId operand,
                          scope.Tensor(call.arguments[0], call.argument_positions[0]));
  absl::StatusOr<ir::ValueId> value = scope.builder().AddCast(operand, type, call.name);
  if (!value.ok()) return scope.At(call.position, value.status());
  return Bound{*value};
}

// shape(T): its sizes as an int32 vector, selected by position: i == 0 ? d0 : i == 1 ? d1 : …
absl::StatusOr<Bound> BindShape(const BoundCall& call, Scope& scope) {
  if (call.arguments.size() != 1) return WrongCount(call, scope, "shape(T)");
  TARTAN_ASSIGN_OR_RETURN(const ir::ValueId operand,
                          scope.Tensor(call.arguments[0], call.argument_positions[0]));
  ir::ProgramBuilder& builder = scope.builder();
  const std::vector<int64_t> dims = builder.shape(operand).dims;
  const auto intermediate = [&] { return scope.IntermediateName(call.name); };
  const auto int32 = [&](int64_t value) {
    return builder.AddConstant(DataType::kInt32, static_cast<double>(value));
  };
  ir::Contraction spread;  // V[i : rank] = =(last[])
  spread.aggregation = Aggregation::kAssign;
  spread.index_names = {"i"};
  spread.output.indices = {math::Affine::Variable(0)};
  spread.inputs = {ir::Access{int32(dims.empty() ? 0 : dims.back()), {}}};
  TARTAN_ASSIGN_OR_RETURN(ir::ValueId result,
                          builder.AddContraction(spread, {static_cast<int64_t>(dims.size())},
                                                 dims.size() < 2 ? call.name : intermediate()));
  if (dims.size() < 2) return Bound{result};
  TARTAN_ASSIGN_OR_RETURN(
      const ir::ValueId position,
      builder.AddSpecial(ir::SpecialKind::kIndex, {result}, {0}, intermediate()));
  for (size_t i = dims.size() - 1; i-- > 0;) {
    TARTAN_ASSIGN_OR_RETURN(
        const ir::ValueId here,
        builder.AddElementwise(ScalarOp::kEqual, {position, int32(static_cast<int64_t>(i))},
                               intermediate()));
    TARTAN_ASSIGN_OR_RETURN(
        result, builder.AddElementwise(ScalarOp::kSelect, {here, int32(dims[i]), result},
                                       i == 0 ? call.name : intermediate()));
  }
  return Bound{result};
}

absl::StatusOr<Bound> BindElement(const BoundCall& call, Scope& scope) {
  if (call.arguments.size() != 2) return WrongCount(call, scope, "element(tuple, position)");
  const std::vector<Bound>* tuple = call.arguments[0].tuple();
  if (tuple == nullptr) {
    return scope.Error(call.argument_positions[0],
                       "element takes a tuple, made by tuple(A, B, ...)");
  }
  TARTAN_ASSIGN_OR_RETURN(const int64_t position, IntegerArgument(call, 1, scope));
  if (position < 0 || position >= static_cast<int64_t>(tuple->size())) {
    return scope.Error(call.argument_positions[1], absl::StrCat("the tuple has ", tuple->size(),
                                                                " parts, but no part ", position));
  }
  return (*tuple)[position];
}

absl::StatusOr<Bound> BindMultiplyAdd(const BoundCall& call, Scope& scope) {
  if (call.arguments.size() != 3) return WrongCount(call, scope, "mad(a, b, c), that is a * b + c");
  std::array<ir::ValueId, 3> operands;
  for (size_t i = 0; i < 3; ++i) {
    TARTAN_ASSIGN_OR_RETURN(operands[i],
                            scope.Tensor(call.arguments[i], call.argument_positions[i]));
  }
  absl::StatusOr<ir::ValueId> product = scope.builder().AddElementwise(
      ScalarOp::kMul, {operands[0], operands[1]}, scope.IntermediateName(call.name));
  if (!product.ok()) return scope.At(call.position, product.status());
  absl::StatusOr<ir::ValueId> sum =
      scope.builder().AddElementwise(ScalarOp::kAdd, {*product, operands[2]}, call.name);
  if (!sum.ok()) return scope.At(call.position, sum.status());
  return Bound{*sum};
}

absl::StatusOr<Bound> BindStopGradient(const BoundCall& call, Scope& scope) {
  if (call.arguments.size() != 1) return WrongCount(call, scope, "stop_gradient(T)");
  if (call.arguments[0].scalar() != nullptr) return call.arguments[0];
  TARTAN_ASSIGN_OR_RETURN(const ir::ValueId operand,
                          scope.Tensor(call.arguments[0], call.argument_positions[0]));
  absl::StatusOr<ir::ValueId> value = scope.builder().AddStopGradient(operand, call.name);
  if (!value.ok()) return scope.At(call.position, value.status());
  return Bound{*value};
}

absl::StatusOr<Bound> BindAssertion(const BoundCall& call, Scope& scope) {
  if (call.arguments.size() != 1) {
    return WrongCount(call, scope, absl::StrCat(call.function, "(condition)"));
  }
  const CompileTimeScalar* condition = call.arguments[0].scalar();
  if (condition == nullptr) {
    return scope.Error(call.argument_positions[0],
                       "an assertion is checked at compile time: it may use sizes, not tensors");
  }
  if (!condition->IsTrue()) {
    return scope.Error(call.position, absl::StrCat("assertion failed: ", call.function));
  }
  return call.arguments[0];
}

}  // namespace

bool IsIntrinsic(absl::string_view function) {
  return FindSpecial(function) != nullptr || absl::StartsWith(function, kAssert) ||
         IsComposed(function) ||
         std::find(std::begin(kOthers), std::end(kOthers), function) != std::end(kOthers);
}

absl::StatusOr<Bound> BindIntrinsic(const BoundCall& call, Scope& scope) {
  if (const SpecialRow* row = FindSpecial(call.function)) return BindSpecial(call, *row, scope);
  if (IsComposed(call.function)) return BindComposed(call, scope);
  if (call.function == kBroadcast || call.function == kMatch) return BindCommonSize(call, scope);
  if (call.function == "tuple") {
    return Bound{std::vector<Bound>(call.arguments.begin(), call.arguments.end())};
  }
  if (call.function == "element") return BindElement(call, scope);
  if (call.function == "shape") return BindShape(call, scope);
  if (call.function == "mad") return BindMultiplyAdd(call, scope);
  if (call.function == "stop_gradient") return BindStopGradient(call, scope);
  if (absl::StartsWith(call.function, kAssert)) return BindAssertion(call, scope);
  return BindCast(call, scope);
}

std::optional<ScalarOp> ScalarFunction(absl::string_view function) {
  if (function == "select") return ScalarOp::kSelect;
  // A cast needs a type: as_float and similar functions.
  if (function == tartan::Name(ScalarOp::kCast)) return std::nullopt;
  const std::optional<ScalarOp> op = ScalarOpFromName(function);
  return op.has_value() && IsOfKernels(*op) ? std::nullopt : op;
}

std::vector<absl::string_view> FunctionNames() {
  std::vector<absl::string_view> names(std::begin(kOthers), std::end(kOthers));
  names.push_back("select");
  for (const SpecialRow& row : kSpecials) names.push_back(row.name);
  for (int i = 0; i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    if (op != ScalarOp::kCast && !IsOfKernels(op)) names.push_back(tartan::Name(op));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tartan::lang
