// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/moves/read_pieces.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tile/graph/moves/permutation.h"
#include "tile/graph/placements/pieces.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

// Replacement accesses, by contraction and input number.
using Replacements = std::map<std::pair<ValueId, size_t>, ir::Access>;

class PieceReader {
 public:
  explicit PieceReader(const ir::Program& program)
      : program_(program), users_(UsersOf(program)), is_output_(program.values.size()) {
    for (const ValueId output : program.outputs) is_output_[output] = true;
  }

  ir::Program Run() const {
    Replacements replacements;
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (!HasPieceBefore(program_.values[v])) continue;
      Replacements found;
      if (AreWithinPieces(static_cast<ValueId>(v), static_cast<ValueId>(v), &found))
        replacements.merge(found);
    }
    if (replacements.empty()) return program_;
    ir::Program program = program_;
    for (const auto& [place, access] : replacements) {
      std::get<ir::Contraction>(program.values[place.first].op).inputs[place.second] = access;
    }
    return ir::WithoutDeadValues(std::move(program));
  }

 private:
  const ir::Value& value(ValueId v) const { return program_.values[v]; }

  // Returns true if all readers of `whole`, directly or through `view`, read within single pieces.
  bool AreWithinPieces(ValueId whole, ValueId view, Replacements* found) const {
    if (is_output_[view]) return false;
    return std::all_of(users_[view].begin(), users_[view].end(), [&](ValueId user) {
      if (const auto* special = std::get_if<ir::Special>(&value(user).op)) {
        return special->kind == ir::SpecialKind::kReshape &&
               WithoutOnes(value(user).shape.dims) == WithoutOnes(value(whole).shape.dims) &&
               AreWithinPieces(whole, user, found);
      }
      const auto* contraction = std::get_if<ir::Contraction>(&value(user).op);
      if (contraction == nullptr || contraction->default_value == view) return false;
      for (size_t i = 0; i < contraction->inputs.size(); ++i) {
        if (contraction->inputs[i].tensor != view) continue;
        std::optional<ir::Access> access = ReadPiece(value(user), contraction->inputs[i], whole);
        if (!access) return false;
        found->insert_or_assign({user, i}, *std::move(access));
      }
      return true;
    });
  }

  // Converts an access to the concatenation into an access to the only piece that it reads.
  std::optional<ir::Access> ReadPiece(const ir::Value& reader, const ir::Access& access,
                                      ValueId whole) const {
    const auto coords = ThroughView(reader, access, value(whole).shape.dims);
    if (!coords) return std::nullopt;
    Box read;
    for (size_t d = 0; d < coords->size(); ++d)
      read.push_back(RangeOf(reader, (*coords)[d], value(whole).shape.dims[d]));
    for (ValueId piece = whole; piece != ir::kNoValue;) {
      const std::optional<Box> box = BoxOf(program_, value(piece));
      if (!box) return std::nullopt;
      const auto& placed = std::get<ir::Contraction>(value(piece).op);
      if (IsWithin(read, *box)) return Move(placed, *coords);
      if (!DoNotOverlap({read, *box})) return std::nullopt;
      piece = placed.default_value;
    }
    return std::nullopt;
  }

  // Converts coordinates of a view into coordinates of the tensor. Only dimensions of size 1
  // differ.
  std::optional<std::vector<Affine>> ThroughView(const ir::Value& reader, const ir::Access& access,
                                                 const std::vector<int64_t>& dims) const {
    const std::vector<int64_t>& view = value(access.tensor).shape.dims;
    std::vector<Affine> coords(dims.size(), Affine::Constant(0));
    size_t d = 0;
    for (size_t v = 0; v < view.size(); ++v) {
      if (view[v] == 1) {
        // An index without another bound must stay.
        if (!access.indices[v].is_constant() && !IsOfOutput(reader, access.indices[v]))
          return std::nullopt;
        continue;
      }
      while (dims[d] == 1) ++d;
      coords[d++] = access.indices[v];
    }
    return coords;
  }

  static bool IsOfOutput(const ir::Value& reader, const Affine& coord) {
    const std::vector<Affine>& output = std::get<ir::Contraction>(reader.op).output.indices;
    return std::find(output.begin(), output.end(), coord) != output.end();
  }

  // Range [begin, end) of a coordinate.
  static std::pair<int64_t, int64_t> RangeOf(const ir::Value& reader, const Affine& coord,
                                             int64_t size) {
    if (!coord.constant.is_integer()) return {0, size};
    const int64_t first = coord.constant.numerator();
    if (coord.is_constant()) return {first, first + 1};
    const Affine moved = coord - Affine::Constant(coord.constant);
    const std::vector<Affine>& output = std::get<ir::Contraction>(reader.op).output.indices;
    for (size_t d = 0; d < output.size(); ++d) {
      if (output[d].single_variable() < 0 || !(output[d] == moved)) continue;
      return {std::max<int64_t>(first, 0), std::min(first + reader.shape.dims[d], size)};
    }
    return {0, size};
  }

  static bool IsWithin(const Box& inner, const Box& outer) {
    for (size_t d = 0; d < inner.size(); ++d) {
      if (inner[d].first < outer[d].first || inner[d].second > outer[d].second) return false;
    }
    return true;
  }

  static ir::Access Move(const ir::Contraction& placed, const std::vector<Affine>& coords) {
    std::vector<Affine> indices(placed.index_names.size());
    for (size_t d = 0; d < coords.size(); ++d) {
      const Affine& written = placed.output.indices[d];
      indices[written.single_variable()] = coords[d] - Affine::Constant(written.constant);
    }
    ir::Access moved = placed.inputs.front();
    for (Affine& coord : moved.indices) coord = coord.Substitute(indices);
    return moved;
  }

  const ir::Program& program_;
  const std::vector<std::vector<ValueId>> users_;
  std::vector<bool> is_output_;
};

}  // namespace

ir::Program ReadPieces(const ir::Program& program) { return PieceReader(program).Run(); }

}  // namespace tartan::graph
