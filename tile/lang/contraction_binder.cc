// SPDX-License-Identifier: Apache-2.0
#include "tile/lang/contraction_binder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile/base/status_macros.h"
#include "tile/lang/expression_binder.h"
#include "tile/lang/index_analysis.h"

namespace tartan::lang {
namespace {

class ContractionBinder {
 public:
  ContractionBinder(const Contraction& source, Position position, absl::string_view label,
                    Scope& scope)
      : source_(source), position_(position), label_(label), scope_(scope) {
    result_.aggregation = source.aggregation;
    result_.combination = source.combination;
    result_.no_defract = source.no_defract;
  }

  absl::StatusOr<ir::ValueId> Bind() {
    // Checks all accesses, to report all errors; constraints need their index variables.
    absl::Status accesses = BindOutput();
    for (const TensorAccess& input : source_.inputs) accesses.Update(BindInput(input));
    TARTAN_RETURN_IF_ERROR(accesses);
    accessed_variables_ = names_.size();
    absl::Status rest;
    for (const Constraint& constraint : source_.constraints) {
      rest.Update(BindConstraint(constraint));
    }
    rest.Update(BindDefault());
    TARTAN_RETURN_IF_ERROR(rest);
    TARTAN_RETURN_IF_ERROR(CheckIndexSpace());
    result_.index_names = names_;
    absl::StatusOr<ir::ValueId> value =
        scope_.builder().AddContraction(std::move(result_), dims_, std::string(PlainName(label_)));
    if (!value.ok()) return scope_.At(position_, value.status());
    return value;
  }

 private:
  absl::Status BindOutput();
  absl::Status BindInput(const TensorAccess& access);
  absl::Status BindConstraint(const Constraint& constraint);
  absl::Status BindDefault();
  absl::Status CheckIndexSpace();
  absl::Status CheckConstraints();
  absl::Status CheckAssignment();

  const Contraction& source_;
  Position position_;
  absl::string_view label_;
  Scope& scope_;
  ir::Contraction result_;
  std::vector<int64_t> dims_;
  IndexNames names_;
  size_t accessed_variables_ = 0;  // the first accessed_variables_ of names_ occur in an access
  std::vector<math::RangeConstraint> all_bounds_;  // of accesses and constraints
};

absl::Status ContractionBinder::BindOutput() {
  const TensorAccess& output = source_.output;
  const size_t indices = output.indices.size();
  const size_t sizes = source_.output_dims.size();
  if (indices != sizes) {
    return scope_.Error(output.position,
                        sizes == 0
                            ? absl::StrCat("the sizes of '", output.tensor, "' are missing: write ",
                                           output.tensor, "[i, j : M, N] with one size per index")
                            : absl::StrCat("'", output.tensor, "' has ", indices,
                                           indices == 1 ? " index but " : " indices but ", sizes,
                                           sizes == 1 ? " size" : " sizes"));
  }
  for (size_t i = 0; i < indices; ++i) {
    const std::string what = absl::StrCat("size ", i, " of '", output.tensor, "'");
    const Expr& expr = *source_.output_dims[i];
    TARTAN_ASSIGN_OR_RETURN(const int64_t size, BindSize(expr, what, scope_));
    if (size < 0) return scope_.Error(expr.position, absl::StrCat(what, " is negative: ", size));
    dims_.push_back(size);
    TARTAN_ASSIGN_OR_RETURN(math::Affine poly, BindPolynomial(*output.indices[i], scope_, names_));
    all_bounds_.push_back({poly, size});
    result_.output.indices.push_back(std::move(poly));
  }
  return absl::OkStatus();
}

absl::Status ContractionBinder::BindInput(const TensorAccess& access) {
  TARTAN_ASSIGN_OR_RETURN(const Definition* definition,
                          scope_.Resolve(access.tensor, access.position));
  TARTAN_ASSIGN_OR_RETURN(const ir::ValueId tensor,
                          scope_.Tensor(definition->bound, access.position));
  const TensorShape shape = scope_.builder().shape(tensor);
  const auto rank = static_cast<size_t>(shape.rank());
  if (rank != access.indices.size()) {
    return scope_.Error(
        access.position,
        absl::StrCat("'", access.tensor, "' is ", shape.ToString(), " and needs ", rank,
                     rank == 1 ? " index" : " indices", ", not ", access.indices.size()));
  }
  ir::Access bound{tensor, {}};
  for (size_t i = 0; i < rank; ++i) {
    TARTAN_ASSIGN_OR_RETURN(math::Affine poly, BindPolynomial(*access.indices[i], scope_, names_));
    all_bounds_.push_back({poly, shape.dims[i]});
    bound.indices.push_back(std::move(poly));
  }
  result_.inputs.push_back(std::move(bound));
  return absl::OkStatus();
}

absl::Status ContractionBinder::BindConstraint(const Constraint& constraint) {
  const Expr& source = *constraint.poly;
  TARTAN_ASSIGN_OR_RETURN(math::Affine poly, BindPolynomial(source, scope_, names_));
  if (names_.size() > accessed_variables_) {
    return scope_.Error(source.position,
                        absl::StrCat("index variable '", names_.back(),
                                     "' is used in constraints only: it must also index a tensor"));
  }
  TARTAN_ASSIGN_OR_RETURN(int64_t range,
                          BindSize(*constraint.range, "the bound of a constraint", scope_));
  if (range < 0 && scope_.refuses_infeasible()) {
    return scope_.Error(constraint.range->position,
                        absl::StrCat("the bound of a constraint is negative: ", range));
  }
  range = std::max<int64_t>(range, 0);
  all_bounds_.push_back({poly, range});
  result_.constraints.push_back({std::move(poly), range});
  return absl::OkStatus();
}

absl::Status ContractionBinder::BindDefault() {
  if (source_.default_tensor.empty()) return absl::OkStatus();
  TARTAN_ASSIGN_OR_RETURN(const Definition* definition,
                          scope_.Resolve(source_.default_tensor, source_.default_position));
  TARTAN_ASSIGN_OR_RETURN(result_.default_value,
                          scope_.Tensor(definition->bound, source_.default_position));
  const TensorShape& shape = scope_.builder().shape(result_.default_value);
  if (shape.dims != dims_) {
    return scope_.Error(
        source_.default_position,
        absl::StrCat("the default '", source_.default_tensor, "' is ", shape.ToString(), " but '",
                     source_.output.tensor, "' has sizes ", DimsToString(dims_)));
  }
  return absl::OkStatus();
}

absl::Status ContractionBinder::CheckIndexSpace() {
  const int count = static_cast<int>(names_.size());
  std::vector<math::Affine> polys;
  for (const math::RangeConstraint& bound : all_bounds_) polys.push_back(bound.poly);
  const int unbounded = FindUnboundedIndex(polys, count);
  if (unbounded >= 0) {
    return scope_.Error(position_, absl::StrCat("index variable '", names_[unbounded],
                                                "' has no bound: add a constraint such as ', ",
                                                names_[unbounded], " < N'"));
  }
  if (scope_.refuses_infeasible()) TARTAN_RETURN_IF_ERROR(CheckConstraints());
  return source_.aggregation == Aggregation::kAssign ? CheckAssignment() : absl::OkStatus();
}

// Empty tensors have no valid index, and if all reads are out of range, everything is padding; both
// are intentional. A constraint that excludes all remaining points is not.
absl::Status ContractionBinder::CheckConstraints() {
  if (source_.constraints.empty()) return absl::OkStatus();
  for (const math::RangeConstraint& bound : all_bounds_) {
    if (bound.range == 0) return absl::OkStatus();
  }
  const int count = static_cast<int>(names_.size());
  const absl::Span<const math::RangeConstraint> bounds = all_bounds_;
  const size_t first = bounds.size() - source_.constraints.size();
  const auto accesses = bounds.subspan(0, first);
  if (HasValidPoint(accesses, bounds.subspan(first), count) != math::Answer::kNo ||
      HasValidPoint(accesses, {}, count) == math::Answer::kNo) {
    return absl::OkStatus();
  }
  size_t guilty = source_.constraints.size() - 1;
  for (size_t c = 0; c < source_.constraints.size(); ++c) {
    if (HasValidPoint(accesses, bounds.subspan(first + c, 1), count) == math::Answer::kNo) {
      guilty = c;
      break;
    }
  }
  return scope_.Error(source_.constraints[guilty].poly->position,
                      absl::StrCat("no index satisfies this constraint: every element of '",
                                   source_.output.tensor, "' would be 0"));
}

absl::Status ContractionBinder::CheckAssignment() {
  const absl::Span<const math::RangeConstraint> bounds = all_bounds_;
  const size_t accesses = bounds.size() - source_.constraints.size();
  Collision collision;
  const math::Answer answer =
      FindCollision(result_.output.indices, bounds.subspan(0, accesses), bounds.subspan(accesses),
                    static_cast<int>(names_.size()), collision);
  if (answer == math::Answer::kNo) return absl::OkStatus();
  constexpr absl::string_view kRemedy = ": use +, *, > or <, or index the output by every variable";
  if (answer == math::Answer::kUnknown) {
    return scope_.Error(
        position_,
        absl::StrCat("the aggregation '=' may write an element more than once here", kRemedy));
  }
  std::vector<std::string> element;
  for (const math::Affine& poly : result_.output.indices) {
    element.push_back(poly.Evaluate(collision.first).ToString());
  }
  const auto point = [&](const std::vector<int64_t>& values) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < values.size(); ++i) {
      parts.push_back(absl::StrCat(names_[i], " = ", values[i]));
    }
    return absl::StrJoin(parts, ", ");
  };
  return scope_.Error(position_, absl::StrCat("the aggregation '=' writes ", source_.output.tensor,
                                              "[", absl::StrJoin(element, ", "),
                                              "] more than once, for ", point(collision.first),
                                              " and for ", point(collision.second), kRemedy));
}

}  // namespace

absl::StatusOr<ir::ValueId> BindContraction(const Contraction& contraction, Position position,
                                            absl::string_view label, Scope& scope) {
  return ContractionBinder(contraction, position, label, scope).Bind();
}

}  // namespace tartan::lang
