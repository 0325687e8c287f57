// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/fuse_into_consumer.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "tile/poly/coords.h"
#include "tile/poly/expr_mapper.h"
#include "tile/poly/rewrite_kernel.h"

namespace tartan::poly {
namespace {

using math::Affine;

constexpr size_t kMaxSums = 8;  // per output element; each needs a register of the work-item

// Returns true if some element is read at computed coordinates or selected by an index.
bool HasComputedPlaces(const FlatContraction& flat) {
  bool has_some = false;
  VisitExprs(flat, [&](const Expr& expr) {
    has_some |= std::holds_alternative<ReadAt>(expr.node);
    has_some |= std::holds_alternative<Choice>(expr.node);
  });
  return has_some;
}

// Requires an unconstrained sum over all points with an epilogue, stored without conversion.
bool IsPlainSum(const FlatContraction& flat) {
  if (!flat.is_reduction() || flat.second_body != nullptr || flat.accumulator_index >= 0 ||
      !flat.constraints.empty() || flat.may_be_empty || !flat.store_guard.empty() ||
      flat.outputs.size() != 1 || HasComputedPlaces(flat)) {
    return false;
  }
  const Output& output = flat.outputs.front();
  return output.shape.type == output.expr->type;
}

bool IsPlainElementwise(const FlatContraction& flat) {
  return !flat.is_reduction() && flat.store_guard.empty() && !HasComputedPlaces(flat);
}

class ReductionFusion {
 public:
  ReductionFusion(const FlatContraction& reader, const FlatContraction& producer,
                  ir::ValueId result)
      : reader_(reader),
        producer_(producer),
        result_(result),
        joined_(reader.output_index_count),
        flat_(reader) {}

  std::optional<FlatContraction> Run() {
    if (!FindPlaces() || !AreEquallySpaced()) return std::nullopt;
    AddIndices();
    const FlatContraction summed = Mapped(Affine::Variable(joined_));
    flat_.aggregation = summed.aggregation;
    flat_.accumulator_type = summed.accumulator_type;
    flat_.body = WithAccesses(summed, summed.body, 0);
    std::vector<ExprPtr> values;
    for (int n = 0; n < static_cast<int>(places_.size()); ++n) {
      const FlatContraction at = Mapped(Affine::Constant(n));
      values.push_back(WithAccesses(at, at.outputs.front().expr, n));
    }
    TakeValues(values);
    DropUnread(&flat_);
    flat_.comments.insert(flat_.comments.begin(), producer_.comments.begin(),
                          producer_.comments.end());
    return std::move(flat_);
  }

 private:
  // An element of the result: the producer's output indices as functions of the reader's.
  struct Place {
    FlatAccess read;
    Coords coords;
  };

  bool IsResult(const TensorAccess& access) const {
    return reader_.tensors[access.tensor].value == result_;
  }

  // Collects the positions at which the reader reads the result, in memory order.
  bool FindPlaces() {
    for (int a = 0; a < static_cast<int>(reader_.accesses.size()); ++a) {
      const TensorAccess& access = reader_.accesses[a];
      if (!IsResult(access)) continue;
      if (!access.guard.empty()) return false;
      FlatAccess read = Flatten(reader_, a);
      if (NumberOf(read) < static_cast<int>(places_.size())) continue;
      std::optional<Coords> coords = CoordsOf(read);
      if (!coords.has_value()) return false;
      places_.push_back({std::move(read), *std::move(coords)});
    }
    std::sort(places_.begin(), places_.end(),
              [](const Place& a, const Place& b) { return a.read.offset < b.read.offset; });
    return places_.size() > 1 && places_.size() <= kMaxSums;
  }

  // Returns the number of a position, or the count of positions if it is not among them.
  int NumberOf(const FlatAccess& read) const {
    const auto place = std::find_if(places_.begin(), places_.end(),
                                    [&](const Place& other) { return other.read == read; });
    return static_cast<int>(place - places_.begin());
  }

  // Returns the producer's output indices at an element, by dividing the distance by the strides,
  // largest first. Returns nothing if an index leaves its range.
  std::optional<Coords> CoordsOf(const FlatAccess& read) const {
    const FlatAccess stored = Flatten(producer_.output_coords, producer_.output_dims,
                                      static_cast<int>(producer_.indices.size()));
    std::vector<int> order(static_cast<size_t>(producer_.output_index_count));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return stored.strides[a] > stored.strides[b]; });
    Coords coords(order.size());
    // Distributes `distance` over the producer's indices, as the coefficient of a reader's index,
    // or as the constant for index -1.
    const auto take = [&](int64_t distance, int index) {
      if (distance < 0) return false;
      for (int i : order) {
        if (stored.strides[i] <= 0) return false;
        const int64_t steps = distance / stored.strides[i];
        distance %= stored.strides[i];
        if (index >= 0) coords[i].set_coefficient(index, steps);
        if (index < 0) coords[i].constant = steps;
      }
      return distance == 0;
    };
    if (!take(read.offset - stored.offset, -1)) return std::nullopt;
    for (int i = 0; i < reader_.output_index_count; ++i) {
      if (!take(read.strides[i], i)) return std::nullopt;
    }
    for (size_t i = 0; i < coords.size(); ++i) {
      if (!IsImplied({coords[i], producer_.indices[i].range}, reader_.indices)) return std::nullopt;
    }
    return coords;
  }

  // Requires that positions are equally spaced and no element of the result is computed twice.
  bool AreEquallySpaced() {
    const auto count = static_cast<int64_t>(places_.size());
    if (count * reader_.output_point_count() > producer_.output_point_count()) return false;
    for (size_t i = 0; i < places_[0].coords.size(); ++i) {
      steps_.push_back(places_[1].coords[i] - places_[0].coords[i]);
      for (int64_t n = 0; n < count; ++n) {
        if (!(places_[n].coords[i] == places_[0].coords[i] + steps_[i] * n)) return false;
      }
    }
    return std::all_of(steps_.begin(), steps_.end(),
                       [](const Affine& step) { return step.is_constant(); });
  }

  void AddIndices() {
    const auto first_reduced = producer_.indices.begin() + producer_.output_index_count;
    flat_.accumulator_index = joined_;
    flat_.indices.push_back({"sum", static_cast<int64_t>(places_.size())});
    flat_.output_index_count = joined_ + 1;
    flat_.indices.insert(flat_.indices.end(), first_reduced, producer_.indices.end());
  }

  // Returns the producer over the indices of both kernels, at position `number`.
  FlatContraction Mapped(const Affine& number) const {
    Coords indices;
    for (size_t i = 0; i < steps_.size(); ++i) {
      indices.push_back(places_[0].coords[i] + number * steps_[i].constant);
    }
    const int reduced = static_cast<int>(producer_.indices.size() - steps_.size());
    for (int r = 0; r < reduced; ++r) indices.push_back(Affine::Variable(joined_ + 1 + r));
    return MapPolys(producer_, [&](const Affine& poly) { return poly.Substitute(indices); });
  }

  // Returns an expression of `from` in which the accumulator has the number `number`.
  ExprPtr WithAccesses(const FlatContraction& from, const ExprPtr& expr, int number) {
    return MapLeaves(expr, [&](const ExprPtr& leaf) {
      if (std::holds_alternative<Accumulator>(leaf->node)) {
        return MakeExpr(leaf->type, Accumulator{number});
      }
      const auto* read = std::get_if<Read>(&leaf->node);
      if (read == nullptr) return leaf;
      return MakeExpr(leaf->type, Read{AddAccess(from, read->access, &flat_)});
    });
  }

  // Replaces reads of the result by its values; sharing between outputs is kept.
  void TakeValues(const std::vector<ExprPtr>& values) {
    ExprMapper::Parts parts;
    parts.leaf = [&](const ExprPtr& leaf) {
      const auto* read = std::get_if<Read>(&leaf->node);
      if (read == nullptr || !IsResult(reader_.accesses[read->access])) return leaf;
      return values[NumberOf(Flatten(reader_, read->access))];
    };
    ExprMapper mapper(std::move(parts));
    for (Output& output : flat_.outputs) output.expr = mapper.Map(output.expr);
  }

  const FlatContraction& reader_;
  const FlatContraction& producer_;
  const ir::ValueId result_;
  const int joined_;  // position of the joined index
  std::vector<Place> places_;
  std::vector<Affine> steps_;  // from one position to the next
  FlatContraction flat_;
};

}  // namespace

std::optional<FlatContraction> FuseIntoConsumer(const FlatContraction& reader,
                                                const FlatContraction& producer,
                                                ir::ValueId result) {
  if (!IsPlainElementwise(reader) || !IsPlainSum(producer)) return std::nullopt;
  return ReductionFusion(reader, producer, result).Run();
}

}  // namespace tartan::poly
