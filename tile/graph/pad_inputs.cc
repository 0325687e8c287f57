// SPDX-License-Identifier: Apache-2.0
#include "tile/graph/pad_inputs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/graph/rewriter.h"
#include "tile/ir/renumber.h"
#include "tile/poly/analysis/analyze_contraction.h"
#include "tile/poly/coords.h"

namespace tartan::graph {
namespace {

using ir::ValueId;
using math::Affine;

// Number of elements read beyond the two ends of a dimension.
struct Margin {
  int64_t before = 0;
  int64_t after = 0;
};

// The indices of a contraction as affine functions of other indices.
struct IndexValues {
  std::vector<Affine> values;
  std::vector<poly::Index> indices;
};

// Treats the indices as independent: each takes all its values with all values of the others.
IndexValues IndependentValues(const poly::IndexSpace& space) {
  IndexValues result;
  for (size_t i = 0; i < space.original.size(); ++i) {
    const auto [least, greatest] = poly::ValueRange(space.original[i], space.indices);
    result.values.push_back(Affine::Variable(static_cast<int>(i)) + Affine::Constant(least));
    result.indices.push_back({"", greatest - least + 1});
  }
  return result;
}

std::vector<Margin> MarginsOf(const ir::Access& access, const std::vector<int64_t>& dims,
                              const IndexValues& values) {
  std::vector<Margin> margins;
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto [least, greatest] =
        poly::ValueRange(access.indices[d].Substitute(values.values), values.indices);
    margins.push_back({std::max<int64_t>(-least, 0), std::max<int64_t>(greatest - dims[d] + 1, 0)});
  }
  return margins;
}

// Maximum ratio of padded to original elements of an input. Empirical.
constexpr int64_t kGrowth = 2;
// The same, if reading the other factor takes longer (IsBoundByWeights). Empirical.
constexpr int64_t kGrowthBesideWeights = 4;

// Maximum size of a dimension that is a window rather than an image. Empirical.
constexpr int64_t kShortSize = 8;
// Maximum range of an index within a window. Empirical.
constexpr int64_t kShortRange = 4;

// Conditions on short indices are uniform over a tile, and skip the work that they exclude.
bool AreShort(const poly::IndexSpace& space) {
  for (const math::RangeConstraint& constraint : space.constraints) {
    for (size_t i = 0; i < space.indices.size(); ++i) {
      if (space.indices[i].range > kShortRange &&
          !constraint.poly.coefficient(static_cast<int>(i)).is_zero()) {
        return false;
      }
    }
  }
  return true;
}

// Returns true if the sum covers only a small sliding window. Plans unroll such a window and
// separate edges from the interior.
bool IsSmallWindow(const ir::Contraction& contraction, const poly::IndexSpace& space) {
  // Maximum elements per dimension that plans unroll.
  constexpr int64_t kLargestWindow = 7;
  const int count = static_cast<int>(space.indices.size());
  std::vector<bool> slides(count, false);
  for (const ir::Access& access : contraction.inputs) {
    for (const Affine& index : access.indices) {
      const Affine place = index.Substitute(space.original);
      bool has_output = false;
      for (int i = 0; i < space.output_index_count; ++i) {
        has_output |= !place.coefficient(i).is_zero();
      }
      for (int r = space.output_index_count; r < count; ++r) {
        if (has_output && !place.coefficient(r).is_zero()) slides[r] = true;
      }
    }
  }
  for (int r = space.output_index_count; r < count; ++r) {
    if (!slides[r] || space.indices[r].range > kLargestWindow) return false;
  }
  return true;
}

bool IsNeeded(const std::vector<Margin>& margins) {
  return std::any_of(margins.begin(), margins.end(),
                     [](const Margin& m) { return m.before > 0 || m.after > 0; });
}

std::vector<int64_t> PaddedDims(std::vector<int64_t> dims, const std::vector<Margin>& margins) {
  for (size_t d = 0; d < dims.size(); ++d) dims[d] += margins[d].before + margins[d].after;
  return dims;
}

// Returns a copy of `value` in the middle of a larger tensor.
ir::Value PadValue(const ir::Value& value, ValueId id, const std::vector<Margin>& margins) {
  ir::Contraction copy = IdentityCopy(id, margins.size());
  for (size_t d = 0; d < margins.size(); ++d) {
    Affine& written = copy.output.indices[d];
    written = written + Affine::Constant(margins[d].before);
  }
  return {absl::StrCat(value.name, "_padded"),
          {value.shape.type, PaddedDims(value.shape.dims, margins)},
          std::move(copy)};
}

class Padder {
 public:
  Padder(const ir::Program& program, const poly::ProgramSpaces& spaces,
         const std::set<ValueId>& kept)
      : program_(program), spaces_(spaces), kept_(kept), rewriter_(program) {}

  PaddedProgram Run() {
    for (size_t v = 0; v < program_.values.size(); ++v) {
      ir::Value value = program_.values[v];
      ir::RenumberOperands(value.op, rewriter_.numbers());
      auto* contraction = std::get_if<ir::Contraction>(&value.op);
      if (contraction != nullptr && kept_.count(static_cast<ValueId>(v)) == 0) {
        Pad(static_cast<ValueId>(v), value.shape, contraction);
      }
      rewriter_.Replace(std::move(value));
    }
    PaddedProgram padded;
    padded.numbers = rewriter_.numbers();
    padded.program = std::move(rewriter_).Finish();
    return padded;
  }

 private:
  // Pads the inputs of `contraction` that are read beyond their edges, if it pays.
  void Pad(ValueId original, const TensorShape& shape, ir::Contraction* contraction) {
    const poly::IndexSpace& space = *spaces_[original];
    const bool sums = contraction->aggregation == Aggregation::kSum &&
                      contraction->default_value == ir::kNoValue &&
                      (contraction->combination == Combination::kNone ||
                       contraction->combination == Combination::kMultiply);
    const bool is_bound = sums && IsBoundByWeights(space, *contraction);
    if (!sums || (space.constraints.empty() && !is_bound) || poly::MovesElements(space)) return;
    if (IsSmallWindow(*contraction, space)) return;
    const bool is_padded = is_bound ? PadDims(kGrowthBesideWeights, 0, IndependentValues(space),
                                              space, shape, contraction)
                                    : PadDims(kGrowth, kShortSize, {space.original, space.indices},
                                              space, shape, contraction);
    if (!is_padded && !space.constraints.empty()) {
      PadDims(kGrowth, 0, {space.original, space.indices}, space, shape, contraction);
    }
  }

  // Pads inputs that grow at most `growth` times. Along dimensions of up to `short_size` elements,
  // constraints keep the padding out of the sum. Returns false if conditions on long indices remain
  // or it does not pay.
  bool PadDims(int64_t growth, int64_t short_size, const IndexValues& values,
               const poly::IndexSpace& space, const TensorShape& shape,
               ir::Contraction* contraction) {
    const int64_t points = PointsOf(space);
    ir::Contraction padded = *contraction;
    std::vector<std::vector<Margin>> margins;
    std::vector<std::vector<int64_t>> input_dims;
    for (ir::Access& access : padded.inputs) {
      const std::vector<int64_t>& dims = rewriter_.value(access.tensor).shape.dims;
      margins.push_back(MarginsOf(access, dims, values));
      input_dims.push_back(PaddedDims(dims, margins.back()));
      if (!IsNeeded(margins.back())) continue;
      const int64_t before = TensorShape{DataType::kBool, dims}.element_count();
      const int64_t after = TensorShape{DataType::kBool, input_dims.back()}.element_count();
      // If rows are read whole, vectors need no conditions, and a copy costs more than it saves.
      const bool whole_rows = margins.back().back().before == 0 && margins.back().back().after == 0;
      if (growth > kGrowth && before == LargestInput(*contraction)) return false;
      if (after > growth * before || points < (whole_rows ? 16 : 2) * after) return false;
      for (size_t d = 0; d < dims.size(); ++d) {
        const Margin& margin = margins.back()[d];
        if (dims[d] <= short_size && (margin.before > 0 || margin.after > 0)) {
          padded.constraints.push_back({access.indices[d], dims[d]});
        }
        access.indices[d] = access.indices[d] + Affine::Constant(margin.before);
      }
    }
    if (std::none_of(margins.begin(), margins.end(), IsNeeded)) return false;
    const auto analysed = poly::AnalyzeContraction(padded, shape.dims, input_dims);
    if (!analysed.ok() || !AreShort(*analysed)) return false;
    if (short_size == 0 && !analysed->constraints.empty()) return false;
    for (size_t i = 0; i < padded.inputs.size(); ++i) {
      if (!IsNeeded(margins[i])) continue;
      const ValueId input = padded.inputs[i].tensor;
      padded.inputs[i].tensor =
          rewriter_.Append(PadValue(rewriter_.value(input), input, margins[i]));
    }
    *contraction = std::move(padded);
    return true;
  }

  static int64_t PointsOf(const poly::IndexSpace& space) {
    int64_t points = 1;
    for (const poly::Index& index : space.indices) points *= index.range;
    return points;
  }

  int64_t LargestInput(const ir::Contraction& contraction) {
    int64_t elements = 0;
    for (const ir::Access& access : contraction.inputs) {
      elements = std::max(elements, rewriter_.value(access.tensor).shape.element_count());
    }
    return elements;
  }

  // Returns true if each element of the larger factor has so few uses that reading it takes longer
  // than multiplying by the zeros.
  bool IsBoundByWeights(const poly::IndexSpace& space, const ir::Contraction& contraction) {
    // Maximum uses of an element. Empirical.
    constexpr int64_t kFewUses = 16;
    return contraction.combination == Combination::kMultiply &&
           PointsOf(space) <= kFewUses * LargestInput(contraction);
  }

  const ir::Program& program_;
  const poly::ProgramSpaces& spaces_;
  const std::set<ValueId>& kept_;
  Rewriter rewriter_;
};

}  // namespace

PaddedProgram PadInputs(const ir::Program& program, const poly::ProgramSpaces& spaces,
                        const std::set<ValueId>& kept) {
  return Padder(program, spaces, kept).Run();
}

}  // namespace tartan::graph
