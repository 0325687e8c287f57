// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/rewrite_kernel.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/poly/expr_mapper.h"

namespace tartan::poly {
namespace {

using math::Affine;
using math::RangeConstraint;
using PolyMap = std::function<Affine(const Affine&)>;

// Returns an ExprMapper that applies `map` to all affine functions.
ExprMapper PolyMapper(const PolyMap& map) {
  ExprMapper::Parts parts;
  parts.poly = map;
  parts.leaf = [&map](const ExprPtr& expr) {
    if (const auto* coordinate = std::get_if<Coordinate>(&expr->node)) {
      return MakeExpr(expr->type, Coordinate{map(coordinate->poly)});
    }
    if (const auto* in_range = std::get_if<InRange>(&expr->node)) {
      return MakeExpr(expr->type, InRange{MapConstraints(in_range->constraints, map)});
    }
    return expr;
  };
  return ExprMapper(std::move(parts));
}

// Assigns new numbers in order of first use.
class Renumbering {
 public:
  int operator()(int old) {
    const auto [it, is_new] = number_.emplace(old, static_cast<int>(kept_.size()));
    if (is_new) kept_.push_back(old);
    return it->second;
  }
  const std::vector<int>& kept() const { return kept_; }

 private:
  std::unordered_map<int, int> number_;
  std::vector<int> kept_;
};

// Visits `expr` and all its subexpressions once.
void Visit(const ExprPtr& expr, std::set<const Expr*>* seen,
           const std::function<void(const Expr&)>& visit) {
  if (expr == nullptr || !seen->insert(expr.get()).second) return;
  visit(*expr);
  if (const auto* apply = std::get_if<Apply>(&expr->node)) {
    for (const ExprPtr& operand : apply->operands) Visit(operand, seen, visit);
  } else if (const auto* read = std::get_if<ReadAt>(&expr->node)) {
    for (const ExprPtr& coordinate : read->coordinates) Visit(coordinate, seen, visit);
  } else if (const auto* choice = std::get_if<Choice>(&expr->node)) {
    for (const ExprPtr& value : choice->values) Visit(value, seen, visit);
  }
}

Affine FlatPoly(const std::vector<Affine>& coords, const std::vector<int64_t>& dims) {
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  Affine sum;
  for (size_t d = 0; d < coords.size(); ++d) sum = sum + coords[d] * strides[d];
  return sum;
}

void FlattenTensors(FlatContraction* flat) {
  std::vector<bool> computed(flat->tensors.size(), false);
  VisitExprs(*flat, [&](const Expr& expr) {
    if (const auto* read = std::get_if<ReadAt>(&expr.node)) computed[read->tensor] = true;
  });
  for (TensorAccess& access : flat->accesses) {
    if (computed[access.tensor]) continue;
    access.coords = {FlatPoly(access.coords, flat->tensors[access.tensor].shape.dims)};
  }
  for (size_t t = 0; t < flat->tensors.size(); ++t) {
    TensorShape& shape = flat->tensors[t].shape;
    if (!computed[t]) shape.dims = {shape.element_count()};
  }
  flat->output_coords = {FlatPoly(flat->output_coords, flat->output_dims)};
  flat->output_dims = {TensorShape{DataType::kBool, flat->output_dims}.element_count()};
}

std::vector<Affine> AllPolys(const FlatContraction& flat) {
  std::vector<Affine> polys = flat.output_coords;
  auto add = [&](const std::vector<RangeConstraint>& constraints) {
    for (const RangeConstraint& constraint : constraints) polys.push_back(constraint.poly);
  };
  for (const TensorAccess& access : flat.accesses) {
    polys.insert(polys.end(), access.coords.begin(), access.coords.end());
    add(access.guard);
  }
  add(flat.constraints);
  add(flat.store_guard);
  VisitExprs(flat, [&](const Expr& expr) {
    if (const auto* coordinate = std::get_if<Coordinate>(&expr.node)) {
      polys.push_back(coordinate->poly);
    } else if (const auto* in_range = std::get_if<InRange>(&expr.node)) {
      add(in_range->constraints);
    } else if (const auto* read = std::get_if<ReadAt>(&expr.node)) {
      add(read->guard);
    } else if (const auto* choice = std::get_if<Choice>(&expr.node)) {
      polys.push_back(choice->poly);
    }
  });
  return polys;
}

// Drops index `dropped`; its coefficients are ignored.
FlatContraction DropIndex(const FlatContraction& flat, int dropped) {
  FlatContraction result = MapPolys(flat, [&](const Affine& poly) {
    Affine mapped = Affine::Constant(poly.constant);
    for (int i = 0, to = 0; i < static_cast<int>(flat.indices.size()); ++i) {
      if (i == dropped) continue;
      if (!poly.coefficient(i).is_zero()) mapped.set_coefficient(to, poly.coefficient(i));
      ++to;
    }
    return mapped;
  });
  result.indices.erase(result.indices.begin() + dropped);
  if (dropped < flat.output_index_count) --result.output_index_count;
  if (dropped < flat.accumulator_index) --result.accumulator_index;
  return result;
}

// Returns true if a step of `outer` equals the whole range of `inner` in every function.
bool SeenAsOne(const std::vector<Affine>& polys, int outer, int inner, int64_t inner_range) {
  for (const Affine& poly : polys) {
    if (poly.coefficient(outer) != poly.coefficient(inner) * inner_range) return false;
  }
  return true;
}

bool Contains(const std::vector<int>& indices, int index) {
  return std::find(indices.begin(), indices.end(), index) != indices.end();
}

// Drops an index that is not in `kept`, and updates the positions in `kept`.
void DropIndex(int dropped, FlatContraction* flat, std::vector<int>* kept) {
  *flat = DropIndex(*flat, dropped);
  for (int& index : *kept) {
    if (index > dropped) --index;
  }
}

bool MergeOnePair(FlatContraction* flat, std::vector<int>* kept) {
  const std::vector<Affine> polys = AllPolys(*flat);
  const int count = static_cast<int>(flat->indices.size());
  for (int inner = 0; inner < count; ++inner) {
    const bool is_output = inner < flat->output_index_count;
    if (inner == flat->accumulator_index || Contains(*kept, inner)) continue;
    for (int outer = 0; outer < count; ++outer) {
      if (outer == inner || (outer < flat->output_index_count) != is_output) continue;
      if (outer == flat->accumulator_index || Contains(*kept, outer)) continue;
      const int64_t range = flat->indices[inner].range;
      if (!SeenAsOne(polys, outer, inner, range)) continue;
      flat->indices[inner] = {
          absl::StrCat(flat->indices[outer].name, "_", flat->indices[inner].name),
          flat->indices[outer].range * range};
      DropIndex(outer, flat, kept);
      return true;
    }
  }
  return false;
}

}  // namespace

void VisitExprs(const FlatContraction& flat, const std::function<void(const Expr&)>& visit) {
  std::set<const Expr*> seen;
  Visit(flat.body, &seen, visit);
  Visit(flat.second_body, &seen, visit);
  Visit(flat.empty_value, &seen, visit);
  for (const Output& output : flat.outputs) Visit(output.expr, &seen, visit);
}

FlatContraction MapPolys(const FlatContraction& flat, const PolyMap& map) {
  FlatContraction result = flat;
  ExprMapper exprs = PolyMapper(map);
  for (TensorAccess& access : result.accesses) {
    for (Affine& coord : access.coords) coord = map(coord);
    access.guard = MapConstraints(std::move(access.guard), map);
  }
  for (Affine& coord : result.output_coords) coord = map(coord);
  result.constraints = MapConstraints(std::move(result.constraints), map);
  result.store_guard = MapConstraints(std::move(result.store_guard), map);
  result.body = exprs.Map(flat.body);
  result.second_body = exprs.Map(flat.second_body);
  result.empty_value = exprs.Map(flat.empty_value);
  for (Output& output : result.outputs) output.expr = exprs.Map(output.expr);
  return result;
}

ExprPtr FindRead(const ExprPtr& expr, int access) {
  if (const auto* read = std::get_if<Read>(&expr->node)) {
    return read->access == access ? expr : nullptr;
  }
  const auto* apply = std::get_if<Apply>(&expr->node);
  const auto* choice = std::get_if<Choice>(&expr->node);
  if (apply == nullptr && choice == nullptr) return nullptr;
  for (const ExprPtr& part : apply != nullptr ? apply->operands : choice->values) {
    if (ExprPtr found = FindRead(part, access)) return found;
  }
  return nullptr;
}

ExprPtr MapLeaves(const ExprPtr& expr, const std::function<ExprPtr(const ExprPtr&)>& map) {
  ExprMapper::Parts parts;
  parts.leaf = map;
  return ExprMapper(std::move(parts)).Map(expr);
}

int FindAccess(const FlatContraction& flat, const FlatContraction& of, int access) {
  const TensorAccess& wanted = of.accesses[access];
  const Tensor& tensor = of.tensors[wanted.tensor];
  for (size_t a = 0; a < flat.accesses.size(); ++a) {
    const TensorAccess& other = flat.accesses[a];
    const Tensor& read = flat.tensors[other.tensor];
    if (read.value == tensor.value && read.shape == tensor.shape && other.coords == wanted.coords &&
        other.guard == wanted.guard) {
      return static_cast<int>(a);
    }
  }
  return -1;
}

int AddAccess(const FlatContraction& from, int number, FlatContraction* to) {
  if (const int found = FindAccess(*to, from, number); found >= 0) return found;
  TensorAccess access = from.accesses[number];
  const Tensor& tensor = from.tensors[access.tensor];
  const auto same = std::find_if(to->tensors.begin(), to->tensors.end(), [&](const Tensor& other) {
    return other.value == tensor.value && other.shape == tensor.shape;
  });
  access.tensor = static_cast<int>(same - to->tensors.begin());
  if (same == to->tensors.end()) to->tensors.push_back(tensor);
  to->accesses.push_back(std::move(access));
  return static_cast<int>(to->accesses.size()) - 1;
}

std::vector<int> DropUnread(FlatContraction* flat) {
  Renumbering accesses;
  Renumbering tensors;
  ExprMapper::Parts parts;
  parts.leaf = [&](const ExprPtr& leaf) {
    const auto* read = std::get_if<Read>(&leaf->node);
    if (read == nullptr) return leaf;
    tensors(flat->accesses[read->access].tensor);
    return MakeExpr(leaf->type, Read{accesses(read->access)});
  };
  parts.tensor = [&](int tensor) { return tensors(tensor); };
  ExprMapper mapper(std::move(parts));
  for (Output& output : flat->outputs) output.expr = mapper.Map(output.expr);
  flat->empty_value = mapper.Map(flat->empty_value);
  flat->body = mapper.Map(flat->body);
  flat->second_body = mapper.Map(flat->second_body);
  std::vector<TensorAccess> kept_accesses;
  for (int access : accesses.kept()) {
    kept_accesses.push_back(std::move(flat->accesses[access]));
    kept_accesses.back().tensor = tensors(kept_accesses.back().tensor);
  }
  std::vector<int> numbers(flat->tensors.size(), -1);
  std::vector<Tensor> kept_tensors;
  for (int tensor : tensors.kept()) {
    numbers[tensor] = static_cast<int>(kept_tensors.size());
    kept_tensors.push_back(std::move(flat->tensors[tensor]));
  }
  flat->accesses = std::move(kept_accesses);
  flat->tensors = std::move(kept_tensors);
  return numbers;
}

FlatContraction MergeIndices(FlatContraction flat, std::vector<int>* kept) {
  std::vector<int> none;
  if (kept == nullptr) kept = &none;
  FlattenTensors(&flat);
  for (int i = static_cast<int>(flat.indices.size()); i-- > 0;) {
    if (flat.indices[i].range == 1 && !Contains(*kept, i)) DropIndex(i, &flat, kept);
  }
  while (MergeOnePair(&flat, kept)) {
  }
  return flat;
}

FlatContraction SplitIndex(const FlatContraction& flat, int index, int64_t size) {
  const int lane = flat.output_index_count;  // later indices move up by one
  FlatContraction result = MapPolys(flat, [&](const Affine& poly) {
    Affine mapped = Affine::Constant(poly.constant);
    for (int i = 0; i < static_cast<int>(flat.indices.size()); ++i) {
      const math::Rational coefficient = poly.coefficient(i);
      if (coefficient.is_zero()) continue;
      mapped.set_coefficient(i < lane ? i : i + 1, i == index ? coefficient * size : coefficient);
    }
    if (!poly.coefficient(index).is_zero()) mapped.set_coefficient(lane, poly.coefficient(index));
    return mapped;
  });
  const Index split = flat.indices[index];
  result.indices[index] = {absl::StrCat(split.name, "_block"), (split.range + size - 1) / size};
  result.indices.insert(result.indices.begin() + lane,
                        {absl::StrCat(split.name, "_lane"), size, /*is_lane=*/true});
  ++result.output_index_count;
  if (split.range % size == 0) return result;
  const RangeConstraint within{Affine::Variable(index, size) + Affine::Variable(lane), split.range};
  result.store_guard.push_back(within);
  for (TensorAccess& access : result.accesses) {
    const bool follows =
        std::any_of(access.coords.begin(), access.coords.end(),
                    [&](const Affine& coord) { return !coord.coefficient(index).is_zero(); });
    if (follows) access.guard.push_back(within);
  }
  return result;
}

}  // namespace tartan::poly
