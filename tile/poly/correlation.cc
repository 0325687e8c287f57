// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/correlation.h"

#include <algorithm>
#include <utility>

namespace tartan::poly {
namespace {

using math::Affine;

// Returns the accesses of a sum of two multiplied float32 tensors.
std::optional<std::pair<int, int>> Factors(const FlatContraction& flat) {
  if (!flat.is_reduction() || flat.aggregation != Aggregation::kSum ||
      flat.accumulator_type != DataType::kFloat32 || flat.empty_value != nullptr ||
      !flat.store_guard.empty()) {
    return std::nullopt;
  }
  const auto* product = std::get_if<Apply>(&flat.body->node);
  if (product == nullptr || product->op != ScalarOp::kMul) return std::nullopt;
  std::vector<int> accesses;
  for (const ExprPtr& operand : product->operands) {
    const auto* read = std::get_if<Read>(&operand->node);
    if (read == nullptr) return std::nullopt;
    const TensorAccess& access = flat.accesses[read->access];
    if (!access.guard.empty() || flat.tensors[access.tensor].shape.type != DataType::kFloat32) {
      return std::nullopt;
    }
    accesses.push_back(read->access);
  }
  return std::make_pair(accesses[0], accesses[1]);
}

class Matcher {
 public:
  Matcher(const FlatContraction& flat, int64_t window, int data, int weights)
      : flat_(flat), window_(window) {
    found_.data = data;
    found_.weights = weights;
  }

  std::optional<Correlation> Run() {
    role_.assign(flat_.indices.size(), Role::kNone);
    if (!MatchData() || !MatchWeights() || !MatchConstraints()) return std::nullopt;
    // Every index must have a role, and every window must appear in the weights.
    for (size_t i = 0; i < role_.size(); ++i) {
      if (role_[i] == Role::kNone || role_[i] == Role::kWindow) return std::nullopt;
    }
    return found_;
  }

 private:
  enum class Role : uint8_t { kNone, kPosition, kWindow, kWeighted, kChannel, kFeature, kBatch };

  bool IsOutput(int i) const { return i < flat_.output_index_count; }

  bool Take(int index, Role role) {
    if (role_[index] != Role::kNone) return false;
    role_[index] = role;
    return true;
  }

  std::vector<int> IndicesOf(const Affine& coord) const {
    std::vector<int> indices;
    for (size_t i = 0; i < flat_.indices.size(); ++i) {
      if (!coord.coefficient(static_cast<int>(i)).is_zero()) indices.push_back(static_cast<int>(i));
    }
    return indices;
  }

  bool MatchData() {
    const TensorAccess& access = flat_.accesses[found_.data];
    size_t directions = 0;
    bool has_channel = false;
    for (size_t d = 0; d < access.coords.size(); ++d) {
      const Affine& coord = access.coords[d];
      const std::vector<int> indices = IndicesOf(coord);
      if (indices.size() == 2) {
        if (directions == 2 || !MatchDirection(static_cast<int>(d), indices, directions++)) {
          return false;
        }
        continue;
      }
      if (indices.empty() && coord.constant.is_zero()) continue;
      if (indices.size() != 1 || !(coord == Affine::Variable(indices[0]))) return false;
      if (!Take(indices[0], IsOutput(indices[0]) ? Role::kBatch : Role::kChannel)) return false;
      if (IsOutput(indices[0])) {
        found_.batch.push_back(indices[0]);
      } else {
        if (std::exchange(has_channel, true)) return false;
        found_.channel = indices[0];
      }
    }
    std::sort(found_.batch.begin(), found_.batch.end());
    return directions == 2 && has_channel;
  }

  // Matches position ± window + constant.
  bool MatchDirection(int dim, const std::vector<int>& indices, size_t number) {
    const Affine& coord = flat_.accesses[found_.data].coords[dim];
    Correlation::Direction& direction = found_.directions[number];
    direction.dim = dim;
    direction.position = indices[0];
    direction.window = indices[1];
    const math::Rational step = coord.coefficient(direction.window);
    if (!IsOutput(direction.position) || IsOutput(direction.window) ||
        coord.coefficient(direction.position) != math::Rational(1) ||
        (step != math::Rational(1) && step != math::Rational(-1)) ||
        flat_.indices[direction.window].range != window_) {
      return false;
    }
    direction.reversed = step == math::Rational(-1);
    direction.first = coord.constant.numerator() - (direction.reversed ? window_ - 1 : 0);
    direction.begin = 0;
    direction.end = flat_.tensors[flat_.accesses[found_.data].tensor].shape.dims[dim];
    return Take(direction.position, Role::kPosition) && Take(direction.window, Role::kWindow);
  }

  bool MatchWeights() {
    bool has_feature = false;
    bool has_channel = false;
    for (const Affine& coord : flat_.accesses[found_.weights].coords) {
      const std::vector<int> indices = IndicesOf(coord);
      if (indices.empty() && coord.constant.is_zero()) continue;
      if (indices.size() != 1) return false;
      const int index = indices[0];
      if (role_[index] == Role::kWindow) {
        // The weights must be read over the whole window, in either direction.
        const bool forward = coord == Affine::Variable(index);
        const bool backward = coord == Affine::Variable(index, -1) + Affine::Constant(window_ - 1);
        if (!forward && !backward) return false;
        role_[index] = Role::kWeighted;
        continue;
      }
      if (!(coord == Affine::Variable(index))) return false;
      if (role_[index] == Role::kChannel) {
        if (std::exchange(has_channel, true)) return false;
      } else {
        if (!IsOutput(index) || has_feature || !Take(index, Role::kFeature)) return false;
        has_feature = true;
        found_.feature = index;
      }
    }
    return has_feature && has_channel;
  }

  // Constraints may only limit the range in which the data is nonzero.
  bool MatchConstraints() {
    const std::vector<Affine>& coords = flat_.accesses[found_.data].coords;
    for (const math::RangeConstraint& constraint : flat_.constraints) {
      bool matched = false;
      for (Correlation::Direction& direction : found_.directions) {
        const Affine difference = coords[direction.dim] - constraint.poly;
        if (!difference.is_constant() || !difference.is_integer()) continue;
        const int64_t begin = difference.constant.numerator();
        direction.begin = std::max(direction.begin, begin);
        direction.end = std::min(direction.end, begin + constraint.range);
        matched = true;
      }
      if (!matched) return false;
    }
    return true;
  }

  const FlatContraction& flat_;
  const int64_t window_;
  Correlation found_;
  std::vector<Role> role_;
};

}  // namespace

std::optional<Correlation> MatchCorrelation(const FlatContraction& flat, int64_t window) {
  const auto factors = Factors(flat);
  if (!factors || factors->first == factors->second) return std::nullopt;
  const auto [a, b] = *factors;
  if (auto found = Matcher(flat, window, a, b).Run()) return found;
  return Matcher(flat, window, b, a).Run();
}

}  // namespace tartan::poly
