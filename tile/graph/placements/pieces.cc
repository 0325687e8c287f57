// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/placements/pieces.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

// Minimum number of pieces that are always written in place; empirical.
constexpr size_t kManyPieces = 9;

// Returns the index of a coordinate of the form index plus integer.
std::optional<int> MovedIndex(const Affine& coordinate) {
  const int index = coordinate.single_variable();
  if (index < 0 || !coordinate.constant.is_integer() ||
      !(coordinate == Affine::Variable(index) + Affine::Constant(coordinate.constant))) {
    return std::nullopt;
  }
  return index;
}

bool Overlap(const Box& a, const Box& b) {
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d].second <= b[d].first || b[d].second <= a[d].first) return false;
  }
  return true;
}

int64_t VolumeOf(const Box& box) {
  int64_t volume = 1;
  for (const auto& [begin, end] : box) volume *= end - begin;
  return volume;
}

// Decides which pieces the kernel of a reduction can store directly: elementwise functions of a
// reduction without other readers.
class SumEnds {
 public:
  SumEnds(const ir::Program& program, const poly::ProgramSpaces& spaces,
          const std::vector<int>& uses)
      : program_(program), spaces_(spaces), uses_(uses) {}

  bool IsWritten(ValueId piece) const {
    const ValueId input = std::get<ir::Contraction>(program_.values[piece].op).inputs[0].tensor;
    return uses_[input] == 1 && FollowsSum(input);
  }

 private:
  bool FollowsSum(ValueId v) const {
    const ir::Value& value = program_.values[v];
    if (std::holds_alternative<ir::Contraction>(value.op)) {
      const std::optional<poly::IndexSpace>& space = spaces_[v];
      return space.has_value() && space->covers_output &&
             static_cast<int>(space->indices.size()) > space->output_index_count;
    }
    if (!std::holds_alternative<ir::Elementwise>(value.op)) return false;
    const std::vector<ValueId> operands = ir::Operands(value.op);
    return std::any_of(operands.begin(), operands.end(), [&](ValueId operand) {
      return program_.values[operand].shape.dims == value.shape.dims && FollowsSum(operand);
    });
  }

  const ir::Program& program_;
  const poly::ProgramSpaces& spaces_;
  const std::vector<int>& uses_;
};

// Returns true for an elementwise function with an exponential or the like. One kernel of several
// such pieces would compute all of them for each element.
bool IsCostly(const ir::Program& program, ValueId v) {
  constexpr int kMostValues = 32;
  std::vector<ValueId> stack = {v};
  for (int n = 0; n < kMostValues && !stack.empty(); ++n) {
    const ir::Value& value = program.values[stack.back()];
    stack.pop_back();
    const auto* elementwise = std::get_if<ir::Elementwise>(&value.op);
    if (elementwise == nullptr) continue;
    switch (elementwise->op) {
      case ScalarOp::kExp:
      case ScalarOp::kTanh:
      case ScalarOp::kSigmoid:
        return true;
      default:
        break;
    }
    stack.insert(stack.end(), elementwise->operands.begin(), elementwise->operands.end());
  }
  return false;
}

}  // namespace

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
  // Each index, plus an offset, is one coordinate of the input and one of the output.
  std::vector<int64_t> ranges(sizes.size(), -1);
  std::vector<int64_t> first(sizes.size(), 0);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const std::optional<int> index = MovedIndex(input.indices[d]);
    if (!index || ranges[*index] >= 0) return std::nullopt;
    ranges[*index] = sizes[d];
    first[*index] = -input.indices[d].constant.numerator();
  }
  Box box;
  std::set<int> used;
  for (size_t d = 0; d < contraction->output.indices.size(); ++d) {
    const std::optional<int> moved = MovedIndex(contraction->output.indices[d]);
    if (!moved || !used.insert(*moved).second) return std::nullopt;
    const int index = *moved;
    const int64_t begin = contraction->output.indices[d].constant.numerator() + first[index];
    if (begin < 0 || ranges[index] == 0 || begin + ranges[index] > value.shape.dims[d])
      return std::nullopt;
    box.emplace_back(begin, begin + ranges[index]);
  }
  if (used.size() != sizes.size()) return std::nullopt;
  return box;
}

bool HasPieceBefore(const ir::Value& value) {
  const auto* piece = std::get_if<ir::Contraction>(&value.op);
  return piece != nullptr && piece->default_value != ir::kNoValue;
}

bool DoNotOverlap(const std::vector<Box>& boxes) {
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (Overlap(boxes[i], boxes[j])) return false;
    }
  }
  return true;
}

std::vector<Pieces> FindPieces(const ir::Program& program, const poly::ProgramSpaces& spaces) {
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
  const SumEnds ends(program, spaces, uses);
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
    if (pieces.values.size() < 2) continue;
    std::reverse(pieces.values.begin(), pieces.values.end());
    std::vector<Box> boxes;
    int64_t volume = 0;
    for (const ValueId piece : pieces.values) {
      boxes.push_back(*BoxOf(program, program.values[piece]));
      volume += VolumeOf(boxes.back());
    }
    pieces.cover_all = volume == program.values[v].shape.element_count() && DoNotOverlap(boxes);
    if (pieces.values.size() < kManyPieces) {
      const auto written = std::count_if(pieces.values.begin(), pieces.values.end(),
                                         [&](ValueId piece) { return ends.IsWritten(piece); });
      const auto costly =
          std::count_if(pieces.values.begin(), pieces.values.end(), [&](ValueId piece) {
            const auto& copy = std::get<ir::Contraction>(program.values[piece].op);
            return IsCostly(program, copy.inputs[0].tensor);
          });
      if (!pieces.cover_all ||
          2 * std::max(written, costly) < static_cast<int64_t>(pieces.values.size())) {
        continue;
      }
    }
    found.push_back(std::move(pieces));
  }
  return found;
}

void NarrowPieces(const ir::Program& program, const std::vector<bool>& is_constant,
                  poly::ProgramSpaces* spaces) {
  for (const Pieces& pieces : FindPieces(program, *spaces)) {
    if (is_constant[pieces.values.front()]) continue;
    for (const ValueId piece : pieces.values) {
      const ir::Value& value = program.values[piece];
      const auto& contraction = std::get<ir::Contraction>(value.op);
      const ir::Access& input = contraction.inputs[0];
      poly::IndexSpace space;
      space.indices.resize(contraction.index_names.size());
      space.original.resize(contraction.index_names.size());
      for (size_t d = 0; d < input.indices.size(); ++d) {
        const int index = input.indices[d].single_variable();
        space.indices[index] = {contraction.index_names[index],
                                program.values[input.tensor].shape.dims[d]};
        space.original[index] =
            Affine::Variable(index) - Affine::Constant(input.indices[d].constant);
      }
      space.output_index_count = static_cast<int>(space.indices.size());
      for (const Affine& coordinate : contraction.output.indices) {
        space.output_coords.push_back(coordinate.Substitute(space.original));
      }
      space.covers_output = false;
      (*spaces)[piece] = std::move(space);
    }
  }
}

PieceStorage FindPieceStorage(const ir::Program& program, const poly::ProgramSpaces& spaces) {
  const size_t size = program.values.size();
  PieceStorage storage = {std::vector<ValueId>(size, ir::kNoValue), {}, std::vector<bool>(size)};
  for (const Pieces& pieces : FindPieces(program, spaces)) {
    const std::vector<ValueId>& values = pieces.values;
    if (spaces[values.front()]->covers_output) continue;
    for (const ValueId v : values) {
      storage.whole[v] = values.back();
      storage.is_free[v] = pieces.cover_all;
    }
    storage.written_by_parts.insert(values.begin() + (pieces.cover_all ? 0 : 1), values.end());
  }
  return storage;
}

void FusePieces(const ir::Program& program, const PieceStorage& pieces,
                const std::vector<bool>& leaves, const std::vector<bool>& is_constant,
                std::vector<ValueId>* region) {
  std::vector<int> uses = ir::UseCounts(program);
  for (const ValueId output : program.outputs) ++uses[output];
  std::vector<int> results(program.values.size(), 0);  // number of results, by root
  for (size_t v = 0; v < leaves.size(); ++v) {
    if (leaves[v]) ++results[(*region)[v]];
  }
  for (size_t v = 0; v < leaves.size(); ++v) {
    if (!pieces.is_free[v]) continue;
    const ValueId input = std::get<ir::Contraction>(program.values[v].op).inputs[0].tensor;
    const ValueId root = (*region)[input];
    const bool is_alone = root != ir::kNoValue && results[root] == 1 && uses[input] == 1;
    if (is_alone && is_constant[root] == is_constant[v]) (*region)[v] = root;
  }
}

void FindStorage(const ir::Program& program, const std::vector<Kind>& kinds,
                 const std::vector<ValueId>& region, const PieceStorage& pieces,
                 ir::Grouping* grouping) {
  grouping->written_by_parts = pieces.written_by_parts;
  grouping->storage.assign(program.values.size(), ir::kNoValue);
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (grouping->in_memory[v]) {
      const bool is_piece = pieces.whole[v] != ir::kNoValue;
      grouping->storage[v] = is_piece ? pieces.whole[v] : static_cast<ValueId>(v);
    } else if (kinds[v] == Kind::kReshape && region[v] == ir::kNoValue) {
      const ValueId operand = std::get<ir::Special>(program.values[v].op).operands[0];
      grouping->storage[v] = grouping->storage[operand];
      grouping->in_memory[v] = grouping->storage[v] != ir::kNoValue;
    }
  }
}

}  // namespace tartan::graph
