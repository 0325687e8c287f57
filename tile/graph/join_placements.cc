// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/join_placements.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "tile/graph/rewriter.h"
#include "tile/ir/program_builder.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

constexpr size_t kLeastPlacements = 3;
constexpr size_t kManyPieces = 9;

// Where a placement's elements are: [begin, end) of each dimension.
using Box = std::vector<std::pair<int64_t, int64_t>>;

// Of a contraction that puts a tensor, as it is, into its result; nothing for others.
std::optional<Box> BoxOf(const ir::Program& program, const ir::Value& value) {
  const auto* contraction = std::get_if<ir::Contraction>(&value.op);
  if (contraction == nullptr || contraction->combination != Combination::kNone ||
      contraction->inputs.size() != 1 || !contraction->constraints.empty() ||
      (contraction->aggregation != Aggregation::kSum &&
       contraction->aggregation != Aggregation::kAssign)) {
    return std::nullopt;
  }
  const ir::Access& input = contraction->inputs[0];
  const std::vector<int64_t>& sizes = program.values[input.tensor].shape.dims;
  if (program.values[input.tensor].shape.type != value.shape.type ||
      contraction->index_names.size() != sizes.size()) {
    return std::nullopt;
  }
  // Each index is a coordinate of the input and, moved, one of the output.
  std::vector<int64_t> ranges(sizes.size(), -1);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int index = input.indices[d].single_variable();
    if (index < 0 || !(input.indices[d] == Affine::Variable(index)) || ranges[index] >= 0)
      return std::nullopt;
    ranges[index] = sizes[d];
  }
  Box box;
  std::set<int> used;
  for (size_t d = 0; d < contraction->output.indices.size(); ++d) {
    const Affine& coordinate = contraction->output.indices[d];
    const int index = coordinate.single_variable();
    if (index < 0 || !used.insert(index).second || !coordinate.constant.is_integer() ||
        !(coordinate == Affine::Variable(index) + Affine::Constant(coordinate.constant))) {
      return std::nullopt;
    }
    const int64_t begin = coordinate.constant.numerator();
    if (begin < 0 || ranges[index] == 0 || begin + ranges[index] > value.shape.dims[d])
      return std::nullopt;
    box.emplace_back(begin, begin + ranges[index]);
  }
  if (used.size() != sizes.size()) return std::nullopt;
  return box;
}

bool Overlap(const Box& a, const Box& b) {
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d].second <= b[d].first || b[d].second <= a[d].first) return false;
  }
  return true;
}

bool DoNotOverlap(const std::vector<Box>& boxes) {
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (Overlap(boxes[i], boxes[j])) return false;
    }
  }
  return true;
}

int64_t VolumeOf(const Box& box) {
  int64_t volume = 1;
  for (const auto& [begin, end] : box) volume *= end - begin;
  return volume;
}

class PlacementJoiner {
 public:
  explicit PlacementJoiner(const ir::Program& program)
      : program_(program), uses_(ir::UseCounts(program)), rewriter_(program) {
    for (const ValueId output : program.outputs) ++uses_[output];
  }

  absl::StatusOr<ir::Program> Run() {
    const size_t size = program_.values.size();
    // Sums that are a part of a greater sum are not looked at by themselves.
    std::vector<bool> is_part(size, false);
    for (const ir::Value& value : program_.values) {
      if (!IsSum(value)) continue;
      for (const ValueId operand : ir::Operands(value.op)) {
        if (IsSumOf(operand, value)) is_part[operand] = true;
      }
    }
    bool any = false;
    for (size_t v = 0; v < size; ++v) {
      const ir::Value& original = program_.values[v];
      ir::Value value = original;
      ir::RenumberOperands(value.op, rewriter_.numbers());
      if (IsSum(original) && !is_part[v] && Join(static_cast<ValueId>(v), &value)) any = true;
      rewriter_.Replace(std::move(value));
    }
    if (!any) return program_;
    return ir::ProgramBuilder(std::move(rewriter_).Finish()).Build();
  }

 private:
  static bool IsSum(const ir::Value& value) {
    const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
    return elementwise != nullptr && elementwise->op == ScalarOp::kAdd && IsFloat(value.shape.type);
  }

  // A sum of the same shape that only `sum` reads.
  bool IsSumOf(ValueId operand, const ir::Value& sum) const {
    const ir::Value& value = program_.values[operand];
    return IsSum(value) && uses_[operand] == 1 && value.shape == sum.shape;
  }

  // The terms, first to last; nothing where there is another one than placements that have no
  // other use.
  std::optional<std::vector<ValueId>> TermsOf(ValueId root) const {
    std::vector<ValueId> terms;
    std::vector<ValueId> open = {root};
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      const std::vector<ValueId> operands = ir::Operands(program_.values[v].op);
      for (size_t i = operands.size(); i-- > 0;) {
        const ir::Value& term = program_.values[operands[i]];
        if (IsSumOf(operands[i], program_.values[root])) {
          open.push_back(operands[i]);
        } else if (uses_[operands[i]] == 1 && term.shape == program_.values[root].shape &&
                   std::holds_alternative<ir::Contraction>(term.op)) {
          terms.push_back(operands[i]);
        } else {
          return std::nullopt;
        }
      }
    }
    std::sort(terms.begin(), terms.end());
    return terms;
  }

  // Makes the value of the root the last piece; the others come before it.
  bool Join(ValueId root, ir::Value* value) {
    const std::optional<std::vector<ValueId>> terms = TermsOf(root);
    if (!terms || terms->size() < kLeastPlacements) return false;
    std::vector<Box> boxes;
    for (const ValueId term : *terms) {
      const ir::Value& placement = program_.values[term];
      const std::optional<Box> box = BoxOf(program_, placement);
      if (!box || std::get<ir::Contraction>(placement.op).default_value != ir::kNoValue)
        return false;
      boxes.push_back(*box);
    }
    if (!DoNotOverlap(boxes)) return false;
    ValueId before = ir::kNoValue;
    for (const ValueId term : *terms) {
      ir::Value piece = program_.values[term];
      ir::RenumberOperands(piece.op, rewriter_.numbers());
      auto& contraction = std::get<ir::Contraction>(piece.op);
      contraction.aggregation = Aggregation::kAssign;
      contraction.default_value = before;
      if (term == terms->back()) {
        value->op = piece.op;
      } else {
        before = rewriter_.Append(std::move(piece));
      }
    }
    return true;
  }

  const ir::Program& program_;
  std::vector<int> uses_;
  Rewriter rewriter_;
};

}  // namespace

absl::StatusOr<ir::Program> JoinPlacements(const ir::Program& program) {
  return PlacementJoiner(program).Run();
}

std::vector<Pieces> FindPieces(const ir::Program& program) {
  std::vector<int> uses = ir::UseCounts(program);
  for (const ValueId output : program.outputs) ++uses[output];
  const auto before = [&](ValueId v) {
    const auto* contraction = std::get_if<ir::Contraction>(&program.values[v].op);
    if (contraction == nullptr || contraction->aggregation != Aggregation::kAssign)
      return ir::kNoValue;
    const ValueId value = contraction->default_value;
    if (value == ir::kNoValue || uses[value] != 1 || !BoxOf(program, program.values[v]) ||
        !BoxOf(program, program.values[value]) ||
        program.values[value].shape != program.values[v].shape) {
      return ir::kNoValue;
    }
    return value;
  };
  std::vector<Pieces> found;
  std::vector<bool> is_before(program.values.size(), false);
  for (size_t v = program.values.size(); v-- > 0;) {
    if (is_before[v]) continue;
    Pieces pieces;
    pieces.values = {static_cast<ValueId>(v)};
    for (ValueId b = before(static_cast<ValueId>(v)); b != ir::kNoValue; b = before(b)) {
      is_before[b] = true;
      pieces.values.push_back(b);
    }
    if (pieces.values.size() < kManyPieces) continue;
    std::reverse(pieces.values.begin(), pieces.values.end());
    std::vector<Box> boxes;
    int64_t volume = 0;
    for (const ValueId piece : pieces.values) {
      boxes.push_back(*BoxOf(program, program.values[piece]));
      volume += VolumeOf(boxes.back());
    }
    pieces.cover_all = volume == program.values[v].shape.element_count() && DoNotOverlap(boxes);
    found.push_back(std::move(pieces));
  }
  return found;
}

void NarrowPieces(const ir::Program& program, const std::vector<bool>& is_constant,
                  poly::ProgramSpaces* spaces) {
  for (const Pieces& pieces : FindPieces(program)) {
    if (is_constant[pieces.values.front()]) continue;
    for (const ValueId piece : pieces.values) {
      const ir::Value& value = program.values[piece];
      const auto& contraction = std::get<ir::Contraction>(value.op);
      const ir::Access& input = contraction.inputs[0];
      poly::IndexSpace space;
      space.indices.resize(contraction.index_names.size());
      for (size_t d = 0; d < input.indices.size(); ++d) {
        const int index = input.indices[d].single_variable();
        space.indices[index] = {contraction.index_names[index],
                                program.values[input.tensor].shape.dims[d]};
      }
      space.output_index_count = static_cast<int>(space.indices.size());
      for (int i = 0; i < space.output_index_count; ++i)
        space.original.push_back(Affine::Variable(i));
      space.output_coords = contraction.output.indices;
      space.covers_output = false;
      (*spaces)[piece] = std::move(space);
    }
  }
}

}  // namespace tartan::graph
