// SPDX-License-Identifier: Apache-2.0
#include "tests/tile/poly/enumerate.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tartan::poly {
namespace {

using math::Affine;
using math::RangeConstraint;
using math::Rational;

struct Check {
  RangeConstraint range;
  bool integer = false;
};

std::vector<Check> Checks(const Problem& problem) {
  std::vector<Check> result;
  auto add = [&](const ir::Access& access, const std::vector<int64_t>& dims) {
    for (size_t i = 0; i < dims.size(); ++i) result.push_back({{access.indices[i], dims[i]}, true});
  };
  add(problem.contraction.output, problem.output_dims);
  for (size_t i = 0; i < problem.input_dims.size(); ++i) {
    add(problem.contraction.inputs[i], problem.input_dims[i]);
  }
  for (const RangeConstraint& c : problem.contraction.constraints) result.push_back({c, false});
  return result;
}

// Searches the indices depth-first, with the interval that all checks leave for each index.
class Search {
 public:
  Search(std::vector<Check> checks, size_t limit) : checks_(std::move(checks)), limit_(limit) {}

  bool Run(std::vector<std::pair<int64_t, int64_t>> box) {
    if (++nodes_ > 300000) return false;
    for (int pass = 0; pass < 4; ++pass) {
      for (const Check& check : checks_) {
        if (!Narrow(check, box)) return true;
      }
    }
    size_t open = box.size();
    for (size_t i = 0; i < box.size(); ++i) {
      if (box[i].first == box[i].second) continue;
      if (open == box.size() || box[i].second - box[i].first < box[open].second - box[open].first) {
        open = i;
      }
    }
    if (open == box.size()) {
      std::vector<int64_t> point;
      for (auto& x : box) point.push_back(x.first);
      for (const Check& check : checks_) {
        Rational value = check.range.poly.Evaluate(point);
        if (!check.range.Holds(point) || (check.integer && !value.is_integer())) return true;
      }
      points.insert(point);
      return points.size() <= limit_;
    }
    auto whole = box[open];
    for (int64_t value = whole.first; value <= whole.second; ++value) {
      box[open] = {value, value};
      if (!Run(box)) return false;
    }
    return true;
  }

  std::set<std::vector<int64_t>> points;

 private:
  static bool Narrow(const Check& check, std::vector<std::pair<int64_t, int64_t>>& box) {
    const Affine& poly = check.range.poly;
    if (check.range.range <= 0) return false;
    if (check.integer && poly.is_constant() && !poly.is_integer()) return false;
    for (size_t i = 0; i <= box.size(); ++i) {
      if (i < box.size() && poly.coefficient(i).is_zero()) continue;
      Rational low = poly.constant, high = poly.constant;
      for (size_t j = 0; j < box.size(); ++j) {
        if (j == i) continue;
        Rational a = poly.coefficient(j) * box[j].first, b = poly.coefficient(j) * box[j].second;
        low = low + std::min(a, b);
        high = high + std::max(a, b);
      }
      Rational end(check.range.range);
      if (i == box.size()) return high >= Rational(0) && low < end;
      // -high <= c * x < end - low
      Rational c = poly.coefficient(i);
      Rational first = (Rational(0) - high) / c, last = (end - low) / c;
      if (c < Rational(0)) std::swap(first, last);
      box[i].first = std::max(box[i].first, first.Ceil());
      box[i].second = std::min(box[i].second, last.Floor());
      if (box[i].first > box[i].second) return false;
    }
    return true;
  }

  std::vector<Check> checks_;
  size_t limit_;
  int64_t nodes_ = 0;
};

// Calls `visit` for each point of the ranges until it returns false.
bool ForEachPoint(const std::vector<int64_t>& ranges,
                  const std::function<bool(const std::vector<int64_t>&)>& visit) {
  for (int64_t range : ranges) {
    if (range <= 0) return true;
  }
  std::vector<int64_t> point(ranges.size());
  for (;;) {
    if (!visit(point)) return false;
    size_t i = ranges.size();
    while (i > 0 && ++point[i - 1] == ranges[i - 1]) point[--i] = 0;
    if (i == 0) return true;
  }
}

bool AllHold(const std::vector<RangeConstraint>& constraints, const std::vector<int64_t>& point) {
  return std::all_of(constraints.begin(), constraints.end(),
                     [&](const RangeConstraint& c) { return c.Holds(point); });
}

bool OverOutputOnly(const Affine& poly, int count) {
  for (size_t i = count; i < poly.coefficients.size(); ++i) {
    if (!poly.coefficients[i].is_zero()) return false;
  }
  return true;
}

// Checks the invariants that need no enumeration.
std::string CheckForm(const Problem& problem, const IndexSpace& space) {
  int outputs = space.output_index_count;
  if (space.original.size() != problem.contraction.index_names.size()) return "originals missing";
  if (space.output_coords.size() != problem.output_dims.size()) return "coordinates missing";
  std::set<std::string> names;
  for (const Index& index : space.indices) {
    if (!names.insert(index.name).second) return "a name appears twice";
    if (index.range == 1) return "a single value has an index";
  }
  for (const Affine& poly : space.original) {
    if (!poly.is_integer()) return "an original is fractional";
  }
  for (const Affine& poly : space.output_coords) {
    if (!poly.is_integer()) return "a coordinate is fractional";
    if (!OverOutputOnly(poly, outputs)) return "a coordinate depends on a reduced index";
  }
  for (const RangeConstraint& c : space.store_guard) {
    if (!c.poly.is_integer()) return "a guard is fractional";
    if (!OverOutputOnly(c.poly, outputs)) return "a guard depends on a reduced index";
  }
  bool reduced_seen = false;
  for (const RangeConstraint& c : space.constraints) {
    if (!c.poly.is_integer()) return "a constraint is fractional";
    bool reduced = !OverOutputOnly(c.poly, outputs);
    if (reduced_seen && !reduced) return "a constraint of outputs comes late";
    reduced_seen |= reduced;
  }
  return "";
}

class Comparer {
 public:
  Comparer(const Problem& problem, const IndexSpace& space) : problem_(problem), space_(space) {
    for (const Index& index : space.indices) ranges_.push_back(index.range);
    output_ranges_.assign(ranges_.begin(), ranges_.begin() + space.output_index_count);
    reduced_ranges_.assign(ranges_.begin() + space.output_index_count, ranges_.end());
    taken_.resize(reduced_ranges_.size());
  }

  std::string Run(const std::set<std::vector<int64_t>>& valid) {
    std::string error;
    ForEachPoint(output_ranges_, [&](const std::vector<int64_t>& output) {
      error = VisitOutput(output);
      return error.empty();
    });
    if (!error.empty()) return error;
    int64_t elements = 1;
    for (int64_t dim : problem_.output_dims) elements *= dim;
    if (space_.covers_output && static_cast<int64_t>(elements_.size()) != elements) {
      return absl::StrCat("writes ", elements_.size(), " of ", elements, " elements");
    }
    for (const auto& point : valid) {
      if (points_.count(point) == 0) return absl::StrCat("misses ", absl::StrJoin(point, ","));
    }
    return "";
  }

  bool some_empty() const { return some_empty_; }
  int64_t point_count() const { return points_.size(); }
  int64_t LooseBounds() const {
    int64_t loose = 0;
    for (size_t i = 0; i < taken_.size(); ++i) {
      if (points_.empty()) break;
      if (*taken_[i].begin() != 0) ++loose;
      if (*taken_[i].rbegin() != reduced_ranges_[i] - 1) ++loose;
    }
    return loose;
  }

 private:
  std::string VisitOutput(const std::vector<int64_t>& output) {
    if (!AllHold(space_.store_guard, output)) return "";
    std::vector<int64_t> element;
    for (size_t i = 0; i < problem_.output_dims.size(); ++i) {
      element.push_back(space_.output_coords[i].Evaluate(output).numerator());
      if (element[i] < 0 || element[i] >= problem_.output_dims[i]) return "writes out of bounds";
    }
    if (!elements_.insert(element).second) return "writes an element twice";
    int64_t count = 0;
    std::string error;
    ForEachPoint(reduced_ranges_, [&](const std::vector<int64_t>& reduced) {
      std::vector<int64_t> all = output;
      all.insert(all.end(), reduced.begin(), reduced.end());
      if (!AllHold(space_.constraints, all)) return true;
      ++count;
      error = VisitPoint(all, element);
      for (size_t i = 0; i < reduced.size(); ++i) taken_[i].insert(reduced[i]);
      return error.empty();
    });
    if (!error.empty()) return error;
    if (count == 0 && !space_.may_be_empty) return "an element is empty";
    some_empty_ |= count == 0;
    return "";
  }

  std::string VisitPoint(const std::vector<int64_t>& all, const std::vector<int64_t>& element) {
    std::vector<int64_t> point;
    for (const Affine& poly : space_.original) point.push_back(poly.Evaluate(all).numerator());
    std::string text = absl::StrJoin(point, ",");
    if (!IsValid(problem_, point)) return absl::StrCat("visits the invalid ", text);
    for (size_t i = 0; i < element.size(); ++i) {
      if (problem_.contraction.output.indices[i].Evaluate(point) != Rational(element[i])) {
        return absl::StrCat("adds ", text, " to the wrong element");
      }
    }
    if (!points_.insert(point).second) return absl::StrCat("visits twice ", text);
    return "";
  }

  const Problem& problem_;
  const IndexSpace& space_;
  std::vector<int64_t> ranges_, output_ranges_, reduced_ranges_;
  std::set<std::vector<int64_t>> elements_, points_;
  std::vector<std::set<int64_t>> taken_;
  bool some_empty_ = false;
};

}  // namespace

std::string Problem::ToString() const {
  const auto& names = contraction.index_names;
  auto access = [&](const ir::Access& a, const std::vector<int64_t>& dims) {
    return absl::StrCat("[",
                        absl::StrJoin(a.indices, ", ",
                                      [&](std::string* out, const Affine& poly) {
                                        absl::StrAppend(out, poly.ToString(names));
                                      }),
                        " : ", absl::StrJoin(dims, ", "), "]");
  };
  std::string text = absl::StrCat("O", access(contraction.output, output_dims), " =");
  for (size_t i = 0; i < input_dims.size(); ++i) {
    absl::StrAppend(&text, " I", access(contraction.inputs[i], input_dims[i]));
  }
  for (const RangeConstraint& c : contraction.constraints) {
    absl::StrAppend(&text, ", ", c.ToString(names));
  }
  return text;
}

bool IsValid(const Problem& problem, const std::vector<int64_t>& point) {
  for (const Check& check : Checks(problem)) {
    if (!check.range.Holds(point)) return false;
    if (check.integer && !check.range.poly.Evaluate(point).is_integer()) return false;
  }
  return true;
}

std::optional<std::set<std::vector<int64_t>>> ValidPoints(const Problem& problem, int64_t bound,
                                                          size_t limit) {
  Search search(Checks(problem), limit);
  size_t count = problem.contraction.index_names.size();
  if (!search.Run(std::vector<std::pair<int64_t, int64_t>>(count, {-bound, bound}))) {
    return std::nullopt;
  }
  return std::move(search.points);
}

bool IsBounded(const Problem& problem) {
  size_t count = problem.contraction.index_names.size(), rank = 0;
  std::vector<std::vector<Rational>> rows;
  for (const Check& check : Checks(problem)) {
    std::vector<Rational> row;
    for (size_t i = 0; i < count; ++i) row.push_back(check.range.poly.coefficient(i));
    rows.push_back(row);
  }
  for (size_t column = 0; column < count; ++column) {
    size_t pivot = rank;
    while (pivot < rows.size() && rows[pivot][column].is_zero()) ++pivot;
    if (pivot == rows.size()) continue;
    std::swap(rows[pivot], rows[rank]);
    for (size_t r = rank + 1; r < rows.size(); ++r) {
      Rational factor = rows[r][column] / rows[rank][column];
      for (size_t i = 0; i < count; ++i) rows[r][i] = rows[r][i] - factor * rows[rank][i];
    }
    ++rank;
  }
  return rank == count;
}

Comparison Compare(const Problem& problem, const IndexSpace& space,
                   const std::set<std::vector<int64_t>>& valid, int64_t limit) {
  Comparison result;
  result.error = CheckForm(problem, space);
  if (!result.error.empty()) return result;
  int64_t size = 1;
  for (const Index& index : space.indices) {
    if (index.range > 0 && size > limit / index.range) {
      result.complete = false;
      return result;
    }
    size *= std::max<int64_t>(index.range, 1);
  }
  Comparer comparer(problem, space);
  result.error = comparer.Run(valid);
  result.loose_bounds = comparer.LooseBounds();
  result.needlessly_empty = space.may_be_empty && !comparer.some_empty() &&
                            !space.indices.empty() &&
                            std::none_of(space.indices.begin(), space.indices.end(),
                                         [](const Index& index) { return index.range == 0; });
  result.points = comparer.point_count();
  return result;
}

}  // namespace tartan::poly
