// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/flat_contraction.h"

#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tile/base/match.h"

namespace tartan::poly {
namespace {

std::vector<std::string> IndexNames(const FlatContraction& flat) {
  std::vector<std::string> names;
  for (const Index& index : flat.indices) names.push_back(index.name);
  return names;
}

class ExprPrinter {
 public:
  explicit ExprPrinter(const FlatContraction& flat) : names_(IndexNames(flat)) {}

  std::string Print(const ExprPtr& expr) const {
    return Match(
        expr->node,
        [&](const Literal& literal) {
          return std::visit([](auto value) { return absl::StrCat(value); }, literal.value);
        },
        [&](const Read& read) { return absl::StrCat("in", read.access); },
        [&](const Accumulator& a) {
          return a.number == 0 ? std::string("acc") : absl::StrCat("acc", a.number + 1);
        },
        [&](const Coordinate& coordinate) { return coordinate.poly.ToString(names_); },
        [&](const Apply& apply) {
          const std::string name = apply.op == ScalarOp::kCast
                                       ? absl::StrCat("as_", Name(expr->type))
                                       : std::string(Name(apply.op));
          return absl::StrCat(name, "(", PrintAll(apply.operands), ")");
        },
        [&](const InRange& in_range) {
          return absl::StrCat("(", PrintConstraints(in_range.constraints, " && "), ")");
        },
        [&](const ReadAt& read) {
          return absl::StrCat("t", read.tensor, "[", PrintAll(read.coordinates), "]");
        },
        [&](const Choice& choice) {
          return absl::StrCat("choose(", choice.poly.ToString(names_), ": ",
                              PrintAll(choice.values), ")");
        });
  }

  std::string PrintConstraints(absl::Span<const math::RangeConstraint> constraints,
                               absl::string_view separator) const {
    return absl::StrJoin(constraints, separator,
                         [&](std::string* out, const math::RangeConstraint& constraint) {
                           absl::StrAppend(out, constraint.ToString(names_));
                         });
  }

 private:
  std::string PrintAll(absl::Span<const ExprPtr> exprs) const {
    return absl::StrJoin(exprs, ", ", [&](std::string* out, const ExprPtr& expr) {
      absl::StrAppend(out, Print(expr));
    });
  }

  const std::vector<std::string> names_;
};

int64_t CountOperations(const ExprPtr& expr, std::unordered_set<const Expr*>* seen) {
  if (!seen->insert(expr.get()).second) return 0;
  int64_t count = 0;
  if (const auto* apply = std::get_if<Apply>(&expr->node)) {
    const bool is_free = apply->op == ScalarOp::kIdentity ||
                         (apply->op == ScalarOp::kCast && ComputeType(expr->type) == expr->type);
    if (!is_free) ++count;
    for (const ExprPtr& operand : apply->operands) count += CountOperations(operand, seen);
  } else if (const auto* read = std::get_if<ReadAt>(&expr->node)) {
    for (const ExprPtr& coordinate : read->coordinates) count += CountOperations(coordinate, seen);
  } else if (const auto* choice = std::get_if<Choice>(&expr->node)) {
    for (const ExprPtr& value : choice->values) count += CountOperations(value, seen);
  }
  return count;
}

// Number of multiplications per evaluation of the body; more than 1 for packed words.
double ProductCount(const ExprPtr& body) {
  const auto* apply = std::get_if<Apply>(&body->node);
  if (apply == nullptr) return 1;
  if (apply->op == ScalarOp::kDot16 || apply->op == ScalarOp::kDotBFloat16) return 2;
  return apply->op == ScalarOp::kDot8 || apply->op == ScalarOp::kDot8u ? 4 : 1;
}

}  // namespace

int64_t FlatContraction::point_count() const {
  int64_t count = 1;
  for (const Index& index : indices) count *= index.range;
  return count;
}

int64_t FlatContraction::output_point_count() const {
  int64_t count = 1;
  for (int i = 0; i < output_index_count; ++i) count *= indices[i].range;
  return count;
}

FlatAccess Flatten(absl::Span<const math::Affine> coords, absl::Span<const int64_t> dims,
                   int index_count) {
  FlatAccess flat;
  flat.strides.assign(index_count, 0);
  const std::vector<int64_t> dim_strides = RowMajorStrides(dims);
  for (size_t d = 0; d < coords.size(); ++d) {
    flat.offset += coords[d].constant.numerator() * dim_strides[d];
    for (int i = 0; i < index_count; ++i) {
      flat.strides[i] += coords[d].coefficient(i).numerator() * dim_strides[d];
    }
  }
  return flat;
}

FlatAccess Flatten(const FlatContraction& flat, int access) {
  const TensorAccess& read = flat.accesses[access];
  return Flatten(read.coords, flat.tensors[read.tensor].shape.dims,
                 static_cast<int>(flat.indices.size()));
}

math::Affine AsAffine(const FlatAccess& access) {
  math::Affine place = math::Affine::Constant(access.offset);
  for (size_t i = 0; i < access.strides.size(); ++i) {
    if (access.strides[i] != 0) place.set_coefficient(static_cast<int>(i), access.strides[i]);
  }
  return place;
}

ScalarOp AggregationOp(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kProduct:
      return ScalarOp::kMul;
    case Aggregation::kMax:
      return ScalarOp::kMax;
    case Aggregation::kMin:
      return ScalarOp::kMin;
    default:
      return ScalarOp::kAdd;
  }
}

int64_t OperationCount(const ExprPtr& expr) {
  if (expr == nullptr) return 0;
  std::unordered_set<const Expr*> seen;
  return CountOperations(expr, &seen);
}

double Flops(const FlatContraction& flat) {
  double per_element = 0;
  for (const Output& output : flat.outputs) per_element += OperationCount(output.expr);
  double flops = per_element *
                 static_cast<double>(flat.output_point_count() / flat.accumulators_per_element());
  if (flat.is_reduction()) {
    for (const ExprPtr& body : {flat.body, flat.second_body}) {
      if (body == nullptr) continue;
      flops += static_cast<double>(flat.point_count()) * ProductCount(body) *
               (1.0 + OperationCount(body));
    }
  }
  return flops;
}

std::string ToString(const FlatContraction& flat) {
  const ExprPrinter printer(flat);
  std::string text = absl::StrCat("kernel ", flat.name, "\n");
  for (const std::string& comment : flat.comments) absl::StrAppend(&text, "  ", comment, "\n");
  const int count = static_cast<int>(flat.indices.size());
  std::vector<FlatAccess> columns = {Flatten(flat.output_coords, flat.output_dims, count)};
  absl::StrAppendFormat(&text, "  %-10s %12s %12s", "index", "range", "out");
  for (size_t a = 0; a < flat.accesses.size(); ++a) {
    const TensorAccess& access = flat.accesses[a];
    columns.push_back(Flatten(access.coords, flat.tensors[access.tensor].shape.dims, count));
    absl::StrAppendFormat(&text, " %12s", absl::StrCat("in", a, ":t", access.tensor));
  }
  absl::StrAppend(&text, "\n");
  for (int i = 0; i < count; ++i) {
    absl::StrAppendFormat(&text, "  %-10s %12d", flat.indices[i].name, flat.indices[i].range);
    for (const FlatAccess& column : columns)
      absl::StrAppendFormat(&text, " %12d", column.strides[i]);
    if (i >= flat.output_index_count) absl::StrAppend(&text, "  reduced");
    if (i == flat.accumulator_index) absl::StrAppend(&text, "  accumulators");
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppendFormat(&text, "  %-10s %12s", "off", "");
  for (const FlatAccess& column : columns) absl::StrAppendFormat(&text, " %12d", column.offset);
  absl::StrAppend(&text, "\n");
  for (size_t a = 0; a < flat.accesses.size(); ++a) {
    if (flat.accesses[a].guard.empty()) continue;
    absl::StrAppend(&text, "  in", a, " where ",
                    printer.PrintConstraints(flat.accesses[a].guard, " && "), "\n");
  }
  for (const math::RangeConstraint& constraint : flat.constraints) {
    absl::StrAppend(&text, "  constraint ", printer.PrintConstraints({&constraint, 1}, ""), "\n");
  }
  if (flat.is_reduction()) {
    absl::StrAppend(&text, "  acc = ", Symbol(flat.aggregation), "(", printer.Print(flat.body),
                    ") in ", Name(flat.accumulator_type), "\n");
  }
  if (flat.second_body != nullptr) {
    absl::StrAppend(&text, "  acc2 = ", Symbol(flat.aggregation), "(",
                    printer.Print(flat.second_body), ")\n");
  }
  for (const Output& output : flat.outputs) {
    absl::StrAppend(&text, "  v", output.value, " ", output.shape.ToString(), " = ",
                    printer.Print(output.expr), "\n");
  }
  return text;
}

ExprPtr MakeExpr(DataType type, decltype(Expr::node) node) {
  return std::make_shared<const Expr>(Expr{type, std::move(node)});
}

ExprPtr MakeApply(ScalarOp op, DataType type, std::vector<ExprPtr> operands) {
  return MakeExpr(type, Apply{op, std::move(operands)});
}

ExprPtr MakeNumber(int64_t value, DataType type) {
  return Convert(MakeExpr(DataType::kInt64, Literal{value}), type);
}

ExprPtr Convert(ExprPtr expr, DataType type) {
  type = ComputeType(type);
  if (expr->type == type) return expr;
  if (const auto* literal = std::get_if<Literal>(&expr->node)) {
    const auto* i = std::get_if<int64_t>(&literal->value);
    if (IsFloat(type)) {
      const double value =
          i != nullptr ? static_cast<double>(*i) : std::get<double>(literal->value);
      return MakeExpr(type, Literal{value, literal->is_size});
    }
    if (i != nullptr && type != DataType::kBool && *i >= MinInteger(type) &&
        (*i <= MaxInteger(type) || type == DataType::kUInt64)) {
      return MakeExpr(type, *literal);
    }
  }
  return MakeApply(ScalarOp::kCast, type, {std::move(expr)});
}

}  // namespace tartan::poly
