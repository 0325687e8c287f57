// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/analysis/analyze_contraction.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tile/base/status_macros.h"
#include "tile/math/integer.h"
#include "tile/math/integer_system.h"
#include "tile/poly/analysis/basis.h"
#include "tile/poly/analysis/conditions.h"
#include "tile/poly/analysis/coverage.h"

namespace tartan::poly {
namespace {

using math::Affine;
using math::Answer;
using math::Interval;
using math::LinearConstraint;
using math::RangeConstraint;

// Maximum number of search nodes for exact bounds; empirical.
constexpr int64_t kBoundsBudget = 2000;

absl::Status TooLarge() {
  return absl::ResourceExhaustedError("the contraction's index arithmetic exceeds 60 bits");
}

// A candidate for a reduced row: an affine function and its interval.
struct Direction {
  std::vector<int64_t> coefficients;  // over the contraction's indices
  Interval interval;
  bool is_single = false;
};

// Converts all constraints to linear form; returns an error if numbers are too large.
absl::StatusOr<std::vector<LinearConstraint>> Linear(absl::Span<const RangeConstraint> constraints,
                                                     int variable_count) {
  std::vector<LinearConstraint> result;
  for (const RangeConstraint& constraint : constraints) {
    std::optional<LinearConstraint> linear = math::ToLinear(constraint, variable_count);
    if (!linear) return TooLarge();
    result.push_back(*std::move(linear));
  }
  return result;
}

RangeConstraint ToRange(const LinearConstraint& constraint) {
  Affine poly = Affine::Constant(-constraint.interval.min);
  poly.coefficients.assign(constraint.coefficients.begin(), constraint.coefficients.end());
  return {std::move(poly), constraint.interval.size()};
}

// Returns the index space of a contraction without any valid point: one index per output dimension,
// and a reduced one of range 0.
IndexSpace EmptySpace(const ir::Contraction& contraction, absl::Span<const int64_t> output_dims) {
  IndexSpace space;
  for (size_t i = 0; i < output_dims.size(); ++i) {
    if (output_dims[i] == 1) {
      space.output_coords.push_back(Affine::Constant(0));
      continue;
    }
    space.output_coords.push_back(Affine::Variable(static_cast<int>(space.indices.size())));
    space.indices.push_back({absl::StrCat("o", i), output_dims[i]});
  }
  space.output_index_count = static_cast<int>(space.indices.size());
  space.indices.push_back({"none", 0});
  space.original.assign(contraction.index_names.size(), Affine::Constant(0));
  space.may_be_empty = true;
  return space;
}

// State of one analysis.
class Analysis {
 public:
  Analysis(const ir::Contraction& contraction, absl::Span<const int64_t> output_dims,
           Conditions conditions)
      : contraction_(contraction),
        output_dims_(output_dims),
        conditions_(std::move(conditions)),
        index_count_(static_cast<int>(contraction.index_names.size())),
        basis_(index_count_) {}

  absl::StatusOr<IndexSpace> Run() {
    if (conditions_.never) return Empty();
    TARTAN_RETURN_IF_ERROR(FindDirections());
    if (is_empty_ || !KeepIntegers()) return Empty();
    TARTAN_RETURN_IF_ERROR(ChooseColumns());
    TARTAN_RETURN_IF_ERROR(FindRanges());
    if (is_empty_) return Empty();
    return Finish();
  }

 private:
  IndexSpace Empty() const { return EmptySpace(contraction_, output_dims_); }

  absl::Status FindDirections();
  bool KeepIntegers();
  absl::Status ChooseColumns();
  absl::Status FindRanges();
  absl::StatusOr<IndexSpace> Finish();
  std::vector<int> FinalOrder() const;
  int SingleColumn(const Row& row) const;
  std::vector<std::string> ColumnNames() const;

  int column_count() const { return static_cast<int>(basis_.columns().size()); }
  bool IsOutput(int column) const { return basis_.columns()[column].role == Column::Role::kOutput; }

  const ir::Contraction& contraction_;
  absl::Span<const int64_t> output_dims_;
  Conditions conditions_;
  int index_count_;
  Basis basis_;
  bool is_empty_ = false;
  std::vector<LinearConstraint> values_;  // merged conditions_.of_values
  std::vector<Direction> directions_;     // candidates for reduced rows
  std::vector<Direction> rows_;           // the chosen directions
  // Linear forms and intervals over the columns of the basis.
  std::vector<LinearConstraint> guards_, constraints_;
  std::vector<Interval> box_;
};

// Merges the conditions and bounds each index and polynomial by interval propagation.
absl::Status Analysis::FindDirections() {
  TARTAN_ASSIGN_OR_RETURN(values_, Linear(conditions_.of_values, index_count_));
  TARTAN_ASSIGN_OR_RETURN(auto all, Linear(conditions_.of_output, index_count_));
  all.insert(all.end(), values_.begin(), values_.end());
  std::vector<Interval> box(index_count_);
  if (!math::MergeParallel(values_) || !math::MergeParallel(all) || !math::Propagate(all, box)) {
    is_empty_ = true;
    return absl::OkStatus();
  }
  for (int i : conditions_.order) {
    if (!box[i].bounded()) continue;
    Direction single{std::vector<int64_t>(index_count_), box[i], true};
    single.coefficients[i] = 1;
    directions_.push_back(std::move(single));
  }
  for (const LinearConstraint& value : values_) {
    Interval reach = math::Reach(value.coefficients, box);
    directions_.push_back(
        {value.coefficients,
         {std::max(reach.min, value.interval.min), std::min(reach.max, value.interval.max)}});
  }
  return absl::OkStatus();
}

// Restricts the basis to points at which all accesses are integers; returns false if there are
// none.
bool Analysis::KeepIntegers() {
  auto keep = [this](const ir::Access& access) {
    return std::all_of(access.indices.begin(), access.indices.end(),
                       [this](const Affine& poly) { return basis_.RequireInteger(poly); });
  };
  return keep(contraction_.output) &&
         std::all_of(contraction_.inputs.begin(), contraction_.inputs.end(), keep);
}

// Adds the output dimensions to the basis, then the directions with the fewest values per output
// element, until all indices are determined.
absl::Status Analysis::ChooseColumns() {
  for (size_t i = 0; i < output_dims_.size(); ++i) {
    basis_.AddOutput(contraction_.output.indices[i], output_dims_[i]);
  }
  while (!basis_.overflow() && basis_.has_free_columns()) {
    const Direction* best = nullptr;
    int64_t best_cost = 0;
    for (const Direction& direction : directions_) {
      std::optional<Basis::Fit> fit = basis_.TryReduced(direction.coefficients);
      if (!fit) continue;
      int64_t cost = math::CeilDiv(direction.interval.size(), fit->step);
      // Splitting an output index into digits must save half the work to pay.
      if (fit->splits_output && cost > 1) cost *= 2;
      if (best != nullptr && cost >= best_cost) continue;
      best = &direction;
      best_cost = cost;
    }
    if (best == nullptr) {
      // No condition varies along the free columns, so every index that does is unbounded.
      std::vector<int64_t> unit(index_count_);
      for (int i = 0; i < index_count_; ++i) {
        unit.assign(index_count_, 0);
        unit[i] = 1;
        if (!basis_.TryReduced(unit)) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("index ", contraction_.index_names[i],
                         " has no bounds: no tensor size or constraint limits it; "
                         "add a constraint such as ",
                         contraction_.index_names[i], " < 10"));
      }
      return absl::InternalError("free columns without an index");
    }
    basis_.AddReduced(best->coefficients, best->interval.size());
    rows_.push_back(*best);
  }
  if (basis_.overflow()) return TooLarge();
  return absl::OkStatus();
}

// Converts all conditions to the columns and bounds them: an output column by the size of its
// dimension only, a reduced column by all conditions.
absl::Status Analysis::FindRanges() {
  std::vector<Affine> originals;
  for (const Row& row : basis_.originals()) originals.push_back(row.ToAffine());
  std::vector<RangeConstraint> guards, constraints, rows;
  for (size_t i = 0; i < output_dims_.size(); ++i) {
    guards.push_back({basis_.outputs()[i].ToAffine(), output_dims_[i]});
  }
  for (const Row& tie : basis_.ties()) constraints.push_back({tie.ToAffine(), 1});
  auto compose = [&](const LinearConstraint& constraint) {
    RangeConstraint range = ToRange(constraint);
    return RangeConstraint{range.poly.Substitute(originals), range.range};
  };
  for (const LinearConstraint& value : values_) constraints.push_back(compose(value));
  for (const Direction& row : rows_) rows.push_back(compose({row.coefficients, row.interval}));
  TARTAN_ASSIGN_OR_RETURN(guards_, Linear(guards, column_count()));
  TARTAN_ASSIGN_OR_RETURN(constraints_, Linear(constraints, column_count()));
  TARTAN_ASSIGN_OR_RETURN(auto system, Linear(rows, column_count()));
  system.insert(system.end(), guards_.begin(), guards_.end());
  system.insert(system.end(), constraints_.begin(), constraints_.end());

  box_.resize(column_count());
  for (int i = 0; i < column_count(); ++i) {
    const Column& column = basis_.columns()[i];
    if (column.is_digit) box_[i] = {0, column.width - 1};
  }
  math::Propagate(guards_, box_);
  std::vector<Interval> tight = box_;
  if (!math::MergeParallel(constraints_) || !math::MergeParallel(system) ||
      !math::Propagate(system, tight)) {
    is_empty_ = true;
    return absl::OkStatus();
  }
  std::vector<int> reduced;
  for (int i = 0; i < column_count(); ++i) {
    if (!tight[i].bounded()) return TooLarge();
    if (!IsOutput(i)) reduced.push_back(i);
  }
  int64_t budget = kBoundsBudget;
  is_empty_ = math::TightenBounds(system, reduced, budget, tight) == Answer::kNo;
  for (int i : reduced) box_[i] = tight[i];
  return absl::OkStatus();
}

// Returns output columns by dimension, then reduced columns by the first index they depend on;
// higher digits first.
std::vector<int> Analysis::FinalOrder() const {
  std::vector<int> row_key;
  for (const Direction& row : rows_) {
    int key = 0;
    while (row.coefficients[conditions_.order[key]] == 0) ++key;
    row_key.push_back(key);
  }
  std::vector<int> order(column_count());
  std::iota(order.begin(), order.end(), 0);
  auto key = [&](int i) {
    const Column& column = basis_.columns()[i];
    return std::tuple(!IsOutput(i), IsOutput(i) ? column.row : row_key[column.row], column.row,
                      -column.weight);
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  return order;
}

// Returns the column that the row equals up to sign and constant, or -1.
int Analysis::SingleColumn(const Row& row) const {
  int found = -1;
  for (int i = 0; i < column_count(); ++i) {
    if (row.coefficients[i] == 0 || box_[i].fixed()) continue;
    if (found >= 0 || std::abs(row.coefficients[i]) != 1) return -1;
    found = i;
  }
  return found;
}

// Names a column after the index that it equals. Other columns get the name of the first index in
// their row, or "o" and the dimension, plus the number of their digit.
std::vector<std::string> Analysis::ColumnNames() const {
  std::vector<std::string> names(column_count());
  std::set<std::string> used(contraction_.index_names.begin(), contraction_.index_names.end());
  for (int i : conditions_.order) {
    int column = SingleColumn(basis_.originals()[i]);
    if (column >= 0 && names[column].empty()) names[column] = contraction_.index_names[i];
  }
  for (int i = 0; i < column_count(); ++i) {
    if (!names[i].empty()) continue;
    const Column& column = basis_.columns()[i];
    std::string base;
    for (int index : conditions_.order) {
      bool in_row = IsOutput(i)
                        ? !contraction_.output.indices[column.row].coefficient(index).is_zero()
                        : rows_[column.row].coefficients[index] != 0;
      if (!in_row) continue;
      base = contraction_.index_names[index];
      break;
    }
    if (base.empty()) base = absl::StrCat("o", column.row);
    int digit = 0;
    for (const Column& other : basis_.columns()) {
      if (other.role == column.role && other.row == column.row && other.weight < column.weight) {
        ++digit;
      }
    }
    std::string name = absl::StrCat(base, "_", digit);
    while (!used.insert(name).second) name += "_";
    names[i] = name;
  }
  return names;
}

// Shifts every column to start at 0, substitutes columns with a single value, and keeps the
// constraints that the ranges do not imply.
absl::StatusOr<IndexSpace> Analysis::Finish() {
  IndexSpace space;
  std::vector<std::string> names = ColumnNames();
  std::vector<Affine> map(column_count());
  for (int i : FinalOrder()) {
    map[i] = Affine::Constant(box_[i].min);
    if (box_[i].fixed()) continue;
    map[i].set_coefficient(static_cast<int>(space.indices.size()), 1);
    if (IsOutput(i)) ++space.output_index_count;
    space.indices.push_back({names[i], box_[i].size()});
  }
  for (const Row& row : basis_.originals())
    space.original.push_back(row.ToAffine().Substitute(map));
  for (const Row& row : basis_.outputs()) {
    space.output_coords.push_back(row.ToAffine().Substitute(map));
  }
  auto is_implied = [&](const LinearConstraint& constraint) {
    // The store guard is not used here: where it fails nothing is written, but inputs would be
    // read.
    return constraint.interval.Contains(math::Reach(constraint.coefficients, box_));
  };
  auto emit = [&](LinearConstraint constraint, std::vector<RangeConstraint>& to) {
    // Clips the upper bound to reachable values, so that only the side that can fail is
    // constrained.
    constraint.interval.max =
        std::min(constraint.interval.max, math::Reach(constraint.coefficients, box_).max);
    RangeConstraint range = ToRange(constraint);
    to.push_back({range.poly.Substitute(map), range.range});
  };
  for (const LinearConstraint& guard : guards_) {
    if (!guard.interval.Contains(math::Reach(guard.coefficients, box_))) {
      emit(guard, space.store_guard);
    }
  }
  std::stable_partition(constraints_.begin(), constraints_.end(),
                        [&](const LinearConstraint& constraint) {
                          for (int i = 0; i < column_count(); ++i) {
                            if (constraint.coefficients[i] != 0 && !IsOutput(i) && !box_[i].fixed())
                              return false;
                          }
                          return true;
                        });
  for (const LinearConstraint& constraint : constraints_) {
    if (!is_implied(constraint)) emit(constraint, space.constraints);
  }
  for (const auto* polys : {&space.original, &space.output_coords}) {
    for (const Affine& poly : *polys) {
      if (!poly.is_integer()) return TooLarge();
    }
  }
  space.may_be_empty = MayBeEmpty(space);
  return space;
}

}  // namespace

absl::StatusOr<IndexSpace> AnalyzeContraction(const ir::Contraction& contraction,
                                              absl::Span<const int64_t> output_dims,
                                              absl::Span<const std::vector<int64_t>> input_dims) {
  TARTAN_ASSIGN_OR_RETURN(Conditions conditions,
                          GatherConditions(contraction, output_dims, input_dims));
  return Analysis(contraction, output_dims, std::move(conditions)).Run();
}

}  // namespace tartan::poly
