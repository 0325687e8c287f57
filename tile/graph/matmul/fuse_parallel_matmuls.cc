// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/matmul/fuse_parallel_matmuls.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tile/graph/constants.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

// A matmul whose last output coordinate is a column of a constant matrix.
struct Matmul {
  ValueId value = ir::kNoValue;
  int matrix = 0;  // position among the inputs
  int axis = 0;    // column dimension of the matrix
};

// Matmuls to fuse, and the equal elementwise steps after them, one value per matmul and step.
struct MatmulSet {
  std::vector<Matmul> products;
  std::vector<std::vector<ValueId>> steps;  // the first step: the matmuls

  ValueId first() const { return products.front().value; }
};

class ParallelMatmulFinder {
 public:
  explicit ParallelMatmulFinder(const ir::Program& program)
      : program_(program),
        is_constant_(FindConstants(program)),
        users_(UsersOf(program)),
        is_output_(program.values.size(), false) {
    for (const ValueId output : program.outputs) is_output_[output] = true;
  }

  std::vector<MatmulSet> Find() const {
    std::map<ValueId, std::vector<MatmulSet>> of_tensor;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      const std::optional<Matmul> product = AsMatmul(static_cast<ValueId>(v));
      if (!product) continue;
      const auto& contraction = std::get<ir::Contraction>(program_.values[v].op);
      std::vector<MatmulSet>& sets = of_tensor[contraction.inputs[1 - product->matrix].tensor];
      const auto set = std::find_if(sets.begin(), sets.end(), [&](const MatmulSet& other) {
        return AreAlike(other.products.front(), *product);
      });
      (set == sets.end() ? sets.emplace_back() : *set).products.push_back(*product);
    }
    std::vector<MatmulSet> found;
    for (auto& [tensor, sets] : of_tensor) {
      for (MatmulSet& set : sets) {
        if (Complete(&set)) found.push_back(std::move(set));
      }
    }
    return found;
  }

 private:
  const ir::Value& value(ValueId v) const { return program_.values[v]; }

  std::optional<Matmul> AsMatmul(ValueId v) const {
    const auto* contraction = std::get_if<ir::Contraction>(&value(v).op);
    if (contraction == nullptr || contraction->aggregation != Aggregation::kSum ||
        contraction->combination != Combination::kMultiply || contraction->inputs.size() != 2 ||
        contraction->default_value != ir::kNoValue || contraction->output.indices.empty()) {
      return std::nullopt;
    }
    const std::vector<Affine>& output = contraction->output.indices;
    const int column = output.back().single_variable();
    if (column < 0 || !(output.back() == Affine::Variable(column))) return std::nullopt;
    const auto has_column = [&](const Affine& index) {
      return !index.coefficient(column).is_zero();
    };
    if (std::any_of(output.begin(), output.end() - 1, has_column)) return std::nullopt;
    for (const math::RangeConstraint& constraint : contraction->constraints) {
      if (has_column(constraint.poly)) return std::nullopt;
    }
    for (int i = 0; i < 2; ++i) {
      const std::vector<Affine>& matrix = contraction->inputs[i].indices;
      const std::vector<Affine>& other = contraction->inputs[1 - i].indices;
      const auto at = std::find(matrix.begin(), matrix.end(), Affine::Variable(column));
      if (at == matrix.end() || std::count_if(matrix.begin(), matrix.end(), has_column) != 1 ||
          std::any_of(other.begin(), other.end(), has_column)) {
        continue;
      }
      const Matmul product = {v, i, static_cast<int>(at - matrix.begin())};
      if (IsMatrixOf(product, *contraction)) return product;
    }
    return std::nullopt;
  }

  // Requires that the matrix is stored and no other form of it is needed. Low-precision weights are
  // decoded by their readers instead.
  bool IsMatrixOf(const Matmul& product, const ir::Contraction& contraction) const {
    const ValueId matrix = contraction.inputs[product.matrix].tensor;
    return std::holds_alternative<ir::Input>(value(matrix).op) && is_constant_[matrix] &&
           value(matrix).shape.element_count() > 0 && !is_constant_[product.value] &&
           !is_output_[matrix] && users_[matrix].size() == 1 &&
           value(matrix).shape.dims[product.axis] == value(product.value).shape.dims.back();
  }

  // Returns true if two matmuls differ only in the matrix and its number of columns.
  bool AreAlike(const Matmul& a, const Matmul& b) const {
    if (a.matrix != b.matrix || a.axis != b.axis) return false;
    auto one = std::get<ir::Contraction>(value(a.value).op);
    const auto& other = std::get<ir::Contraction>(value(b.value).op);
    const ValueId matrix = other.inputs[b.matrix].tensor;
    TensorShape shape = value(one.inputs[a.matrix].tensor).shape;
    TensorShape result = value(a.value).shape;
    shape.dims[a.axis] = value(matrix).shape.dims[b.axis];
    result.dims.back() = value(b.value).shape.dims.back();
    one.inputs[a.matrix].tensor = matrix;
    // All matrices must be defined before the first matmul.
    return matrix < a.value && one == other && shape == value(matrix).shape &&
           result == value(b.value).shape;
  }

  // Adds the steps; returns false if the matmuls should stay separate.
  bool Complete(MatmulSet* set) const {
    if (set->products.size() < 2) return false;
    std::vector<ValueId> step;
    for (const Matmul& product : set->products) step.push_back(product.value);
    while (!step.empty()) {
      set->steps.push_back(step);
      step = StepAfter(*set);
    }
    const std::vector<ValueId>& ends = set->steps.back();
    return std::none_of(ends.begin(), ends.end(), [&](ValueId end) { return HasEpilogue(end); });
  }

  // Returns the equal elementwise operations after all ends; nothing if there are none.
  std::vector<ValueId> StepAfter(const MatmulSet& set) const {
    std::vector<ValueId> next;
    for (const ValueId end : set.steps.back()) {
      if (is_output_[end] || users_[end].size() != 1) return {};
      const ValueId user = users_[end].front();
      if (!next.empty() && !AreAlike(set, next.front(), user, end)) return {};
      next.push_back(user);
      if (next.size() == 1 && !AreAlike(set, user, user, end)) return {};
    }
    return next;
  }

  // `end`: the value that `b` follows.
  bool AreAlike(const MatmulSet& set, ValueId a, ValueId b, ValueId end) const {
    const auto* one = std::get_if<ir::Elementwise>(&value(a).op);
    const auto* other = std::get_if<ir::Elementwise>(&value(b).op);
    if (one == nullptr || other == nullptr || one->op != other->op ||
        one->operands.size() != other->operands.size() ||
        value(a).shape.type != value(b).shape.type ||
        value(b).shape.dims != value(end).shape.dims) {
      return false;
    }
    const ValueId first_end = set.steps.back().front();
    for (size_t i = 0; i < one->operands.size(); ++i) {
      const ValueId x = one->operands[i];
      const ValueId y = other->operands[i];
      if ((x == first_end) != (y == end)) return false;
      if (y == end) continue;
      const bool is_literal = std::holds_alternative<ir::Constant>(value(y).op);
      if (!is_literal && (!is_constant_[y] || y >= set.first())) return false;
      const bool is_scalar = value(y).shape.element_count() == 1;
      const bool fits = is_literal ? value(x).op == value(y).op && value(x).shape == value(y).shape
                        : is_scalar
                            ? x == y
                            : IsRow(y, value(end).shape.dims.back()) &&
                                  value(x).shape.dims.size() == value(y).shape.dims.size() &&
                                  value(x).shape.type == value(y).shape.type;
      if (!fits) return false;
    }
    return true;
  }

  // Returns true for a constant with one number per column.
  bool IsRow(ValueId v, int64_t columns) const {
    const std::vector<int64_t>& dims = value(v).shape.dims;
    return std::holds_alternative<ir::Input>(value(v).op) && !dims.empty() &&
           dims.back() == columns && value(v).shape.element_count() == columns;
  }

  // Returns true if the kernel would have an epilogue, or would store an output of the program.
  bool HasEpilogue(ValueId v) const {
    return is_output_[v] || std::any_of(users_[v].begin(), users_[v].end(), [&](ValueId user) {
             const auto* special = std::get_if<ir::Special>(&value(user).op);
             const bool is_reshape =
                 special != nullptr && special->kind == ir::SpecialKind::kReshape;
             return is_reshape ? HasEpilogue(user)
                               : std::holds_alternative<ir::Elementwise>(value(user).op);
           });
  }

  const ir::Program& program_;
  const std::vector<bool> is_constant_;
  const std::vector<std::vector<ValueId>> users_;
  std::vector<bool> is_output_;
};

class ParallelMatmulFuser {
 public:
  ParallelMatmulFuser(const ir::Program& program, const std::vector<MatmulSet>& sets)
      : program_(program), rewriter_(program) {
    for (const MatmulSet& set : sets) {
      starts_[set.first()] = &set;
      for (size_t p = 0; p < set.products.size(); ++p) places_[set.steps.back()[p]] = {&set, p};
    }
  }

  ir::Program Run() {
    for (size_t i = 0; i < program_.values.size(); ++i) {
      const auto v = static_cast<ValueId>(i);
      if (const auto start = starts_.find(v); start != starts_.end()) Join(*start->second);
      ir::Value value = program_.values[v];
      ir::RenumberOperands(value.op, rewriter_.numbers());
      if (const auto place = places_.find(v); place != places_.end()) {
        value.op = Columns(*place->second.first, place->second.second);
      }
      rewriter_.Replace(std::move(value));
    }
    return ir::WithoutDeadValues(std::move(rewriter_).Finish());
  }

 private:
  int64_t ColumnsOf(ValueId v) const { return program_.values[v].shape.dims.back(); }

  // Inserts all fused steps before the first matmul.
  void Join(const MatmulSet& set) {
    int64_t columns = 0;
    for (const Matmul& product : set.products) columns += ColumnsOf(product.value);
    ValueId before = ir::kNoValue;
    for (size_t s = 0; s < set.steps.size(); ++s) {
      ir::Value value = program_.values[set.steps[s].front()];
      absl::StrAppend(&value.name, "_joined");
      value.shape.dims.back() = columns;
      if (s == 0) {
        ir::RenumberOperands(value.op, rewriter_.numbers());
        JoinMatrices(set, &std::get<ir::Contraction>(value.op));
      } else {
        JoinOperands(set, s, before, &std::get<ir::Elementwise>(value.op));
      }
      before = rewriter_.Append(std::move(value));
    }
    joined_[&set] = before;
  }

  void JoinMatrices(const MatmulSet& set, ir::Contraction* contraction) {
    const Matmul& first = set.products.front();
    std::vector<ValueId> matrices;
    for (const Matmul& product : set.products) {
      const auto& one = std::get<ir::Contraction>(program_.values[product.value].op);
      matrices.push_back(one.inputs[product.matrix].tensor);
    }
    contraction->inputs[first.matrix].tensor = SideBySide(matrices, first.axis);
  }

  // `before`: the fused previous step.
  void JoinOperands(const MatmulSet& set, size_t step, ValueId before, ir::Elementwise* joined) {
    for (size_t i = 0; i < joined->operands.size(); ++i) {
      std::vector<ValueId> operands;
      for (const ValueId v : set.steps[step]) {
        operands.push_back(std::get<ir::Elementwise>(program_.values[v].op).operands[i]);
      }
      const ir::Value& first = program_.values[operands.front()];
      if (operands.front() == set.steps[step - 1].front()) {
        joined->operands[i] = before;
      } else if (std::holds_alternative<ir::Constant>(first.op)) {
        joined->operands[i] = rewriter_.Append(first);  // the original may be defined later
      } else if (first.shape.element_count() == 1) {
        joined->operands[i] = rewriter_.numbers()[operands.front()];
      } else {
        joined->operands[i] = SideBySide(operands, static_cast<int>(first.shape.dims.size()) - 1);
      }
    }
  }

  // Returns a concatenation of constants.
  ValueId SideBySide(const std::vector<ValueId>& parts, int axis) {
    ir::Value whole = program_.values[parts.front()];
    absl::StrAppend(&whole.name, "_joined");
    whole.shape.dims[axis] = 0;
    for (const ValueId part : parts) {
      whole.shape.dims[axis] += program_.values[part].shape.dims[axis];
    }
    int64_t begin = 0;
    ValueId before = ir::kNoValue;
    for (const ValueId part : parts) {
      ir::Contraction piece = IdentityCopy(rewriter_.numbers()[part], whole.shape.dims.size());
      piece.output.indices[axis].constant = math::Rational(begin);
      piece.default_value = before;
      begin += program_.values[part].shape.dims[axis];
      before = rewriter_.Append({whole.name, whole.shape, std::move(piece)});
    }
    return before;
  }

  // Returns the columns of one matmul in the fused result.
  ir::Contraction Columns(const MatmulSet& set, size_t product) const {
    int64_t begin = 0;
    for (size_t p = 0; p < product; ++p) begin += ColumnsOf(set.products[p].value);
    const size_t rank = program_.values[set.first()].shape.dims.size();
    ir::Contraction columns = IdentityCopy(joined_.at(&set), rank);
    columns.inputs.front().indices.back().constant = math::Rational(begin);
    return columns;
  }

  const ir::Program& program_;
  Rewriter rewriter_;
  std::map<ValueId, const MatmulSet*> starts_;                     // by first matmul
  std::map<ValueId, std::pair<const MatmulSet*, size_t>> places_;  // by value of the last step
  std::map<const MatmulSet*, ValueId> joined_;                     // value in the new program
};

}  // namespace

ir::Program FuseParallelMatmuls(const ir::Program& program) {
  const std::vector<MatmulSet> sets = ParallelMatmulFinder(program).Find();
  return sets.empty() ? program : ParallelMatmulFuser(program, sets).Run();
}

}  // namespace tartan::graph
