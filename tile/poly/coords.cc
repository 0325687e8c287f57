// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/coords.h"

#include <algorithm>

namespace tartan::poly {
namespace {

using math::Affine;
using math::Rational;

// Writes poly as divisor * quotient + remainder with 0 <= remainder < divisor for all index values.
std::optional<std::pair<Affine, Affine>> Split(const Affine& poly, int64_t divisor,
                                               absl::Span<const Index> indices) {
  Affine quotient, remainder;
  for (int i = 0; i < static_cast<int>(poly.coefficients.size()); ++i) {
    const int64_t coefficient = poly.coefficient(i).numerator();
    if (coefficient == 0) continue;
    if (coefficient % divisor == 0) {
      quotient.set_coefficient(i, coefficient / divisor);
    } else {
      remainder.set_coefficient(i, coefficient);
    }
  }
  const int64_t constant = poly.constant.numerator();
  const int64_t low = ((constant % divisor) + divisor) % divisor;
  remainder.constant = low;
  quotient.constant = (constant - low) / divisor;
  const auto [least, greatest] = ValueRange(remainder, indices);
  if (least < 0 || greatest >= divisor) return std::nullopt;
  return std::make_pair(quotient, remainder);
}

// Converts the linear position `position` in a block to coordinates for the sizes `dims`.
bool SplitOver(Affine position, absl::Span<const int64_t> dims, absl::Span<const Index> indices,
               absl::Span<Affine> result) {
  for (size_t d = dims.size(); d-- > 1;) {
    if (dims[d] == 1) {
      result[d] = Affine::Constant(0);
      continue;
    }
    bool outermost = true;
    for (size_t e = 0; e < d; ++e) outermost &= dims[e] == 1;
    if (outermost) {
      result[d] = position;
      position = Affine::Constant(0);
      continue;
    }
    auto split = Split(position, dims[d], indices);
    if (!split.has_value()) return false;
    result[d] = split->second;
    position = split->first;
  }
  if (!dims.empty()) result[0] = position;
  return true;
}

Affine Linear(absl::Span<const Affine> coords, absl::Span<const int64_t> dims) {
  Affine position;
  for (size_t d = 0; d < dims.size(); ++d) {
    position = position * Rational(dims[d]);
    if (dims[d] != 1) position = position + coords[d];
  }
  return position;
}

// Calls visit(from_begin, from_end, to_begin, to_end) for the smallest blocks of consecutive
// dimensions with equal element counts in both shapes. Returns false if a visit does, or if sizes
// of 0 leave no blocks.
template <class Visit>
bool ForEachBlock(absl::Span<const int64_t> from, absl::Span<const int64_t> to, Visit visit) {
  size_t f = 0;
  size_t t = 0;
  while (f < from.size() || t < to.size()) {
    const size_t f_begin = f;
    const size_t t_begin = t;
    int64_t f_count = f < from.size() ? from[f++] : 1;
    int64_t t_count = t < to.size() ? to[t++] : 1;
    while (f_count != t_count) {
      if (f_count < t_count) {
        if (f == from.size()) return false;
        f_count *= from[f++];
      } else {
        if (t == to.size()) return false;
        t_count *= to[t++];
      }
    }
    if (!visit(f_begin, f, t_begin, t)) return false;
  }
  return true;
}

}  // namespace

std::pair<int64_t, int64_t> ValueRange(const Affine& poly, absl::Span<const Index> indices) {
  int64_t least = poly.constant.numerator();
  int64_t greatest = least;
  for (int i = 0; i < static_cast<int>(indices.size()); ++i) {
    const int64_t end =
        poly.coefficient(i).numerator() * std::max<int64_t>(indices[i].range - 1, 0);
    (end < 0 ? least : greatest) += end;
  }
  return {least, greatest};
}

bool IsImplied(const math::RangeConstraint& constraint, absl::Span<const Index> indices) {
  const auto [least, greatest] = ValueRange(constraint.poly, indices);
  return least >= 0 && greatest < constraint.range;
}

Coords BroadcastCoords(const Coords& coords, absl::Span<const int64_t> result,
                       absl::Span<const int64_t> operand) {
  Coords mapped(operand.size());
  const size_t skipped = result.size() - operand.size();
  for (size_t d = 0; d < operand.size(); ++d) {
    const bool stretched = operand[d] == 1 && result[skipped + d] != 1;
    mapped[d] = stretched ? Affine::Constant(0) : coords[skipped + d];
  }
  return mapped;
}

bool ReshapeMergesOnly(absl::Span<const int64_t> from, absl::Span<const int64_t> to) {
  bool merges = true;
  const bool walked = ForEachBlock(from, to, [&](size_t, size_t, size_t t_begin, size_t t_end) {
    const auto large = std::count_if(to.begin() + t_begin, to.begin() + t_end,
                                     [](int64_t size) { return size != 1; });
    merges &= large <= 1;
    return true;
  });
  return walked && merges;
}

std::optional<Coords> ReshapeCoords(const Coords& coords, absl::Span<const int64_t> from,
                                    absl::Span<const int64_t> to, absl::Span<const Index> indices) {
  Coords mapped(to.size(), Affine::Constant(0));
  const bool done =
      ForEachBlock(from, to, [&](size_t f_begin, size_t f_end, size_t t_begin, size_t t_end) {
        const Affine position = Linear(absl::MakeSpan(coords).subspan(f_begin, f_end - f_begin),
                                       from.subspan(f_begin, f_end - f_begin));
        return SplitOver(position, to.subspan(t_begin, t_end - t_begin), indices,
                         absl::MakeSpan(mapped).subspan(t_begin, t_end - t_begin));
      });
  if (!done) return std::nullopt;
  return mapped;
}

}  // namespace tartan::poly
