// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/naive_special.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "tile/base/scalar_value.h"
#include "tile/ir/random.h"

namespace tartan::ir {
namespace {

// Visits the lines of a tensor along an axis: element k of a line is at `start + k * stride`.
template <class Visit>
void ForEachLine(const TensorShape& shape, int64_t axis, const Visit& visit) {
  const int64_t size = shape.dims[axis];
  const int64_t stride = RowMajorStrides(shape.dims)[axis];
  if (shape.element_count() == 0) return;
  for (int64_t outer = 0; outer < shape.element_count(); outer += size * stride) {
    for (int64_t inner = 0; inner < stride; ++inner) visit(outer + inner, size, stride);
  }
}

// Returns whether element `a` comes before `b`. NaN is greater than everything else.
bool Precedes(const NaiveTensor& tensor, int64_t a, int64_t b, bool descending) {
  if (!tensor.is_real()) {
    if (descending) std::swap(a, b);
    return TestInteger(ScalarOp::kLess, tensor.integers[a], tensor.integers[b], tensor.shape.type);
  }
  const double x = tensor.reals[a];
  const double y = tensor.reals[b];
  if (std::isnan(x) || std::isnan(y)) {  // NaN is greater than everything else
    return descending ? std::isnan(x) && !std::isnan(y) : std::isnan(y) && !std::isnan(x);
  }
  return descending ? x > y : x < y;
}

NaiveTensor Sort(const Special& special, const TensorShape& shape, const NaiveTensor& tensor) {
  const int64_t axis = special.params[0];
  const bool descending = special.params[1] != 0;
  NaiveTensor result(shape);
  const int64_t count = shape.dims[axis];
  ForEachLine(tensor.shape, axis, [&](int64_t start, int64_t size, int64_t stride) {
    std::vector<int64_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    // Equal elements keep their order.
    const auto comes_first = [&](int64_t a, int64_t b) {
      const int64_t x = start + a * stride;
      const int64_t y = start + b * stride;
      if (Precedes(tensor, x, y, descending)) return true;
      return a < b && !Precedes(tensor, y, x, descending);
    };
    if (count < size) {
      std::partial_sort(order.begin(), order.begin() + count, order.end(), comes_first);
    } else {
      std::sort(order.begin(), order.end(), comes_first);
    }
    const int64_t line = start / (size * stride) * (count * stride) + start % stride;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t at = line + k * stride;
      if (special.kind == SpecialKind::kArgSort) {
        result.integers[at] = order[k];
      } else {
        result.Copy(at, tensor, start + order[k] * stride);
      }
    }
  });
  return result;
}

// Cumulative sums or multiplications; floats accumulate in double.
NaiveTensor Accumulate(const Special& special, const TensorShape& shape,
                       const NaiveTensor& tensor) {
  const bool is_sum = special.kind == SpecialKind::kCumSum;
  const ScalarOp op = is_sum ? ScalarOp::kAdd : ScalarOp::kMul;
  const bool exclusive = special.params[1] != 0;
  const bool reverse = special.params[2] != 0;
  NaiveTensor result(shape);
  ForEachLine(shape, special.params[0], [&](int64_t start, int64_t size, int64_t stride) {
    double real = is_sum ? 0 : 1;
    int64_t integer = is_sum ? 0 : 1;
    for (int64_t k = 0; k < size; ++k) {
      const int64_t at = start + (reverse ? size - 1 - k : k) * stride;
      const double real_before = real;
      const int64_t integer_before = integer;
      if (result.is_real()) {
        real = ApplyReal(op, real, tensor.reals[at]);
        result.reals[at] = RoundReal(exclusive ? real_before : real, ComputeType(shape.type));
      } else {
        integer = ApplyInteger(op, integer, tensor.integers[at], shape.type);
        result.integers[at] = exclusive ? integer_before : integer;
      }
    }
  });
  return result;
}

NaiveTensor IndexOf(const Special& special, const TensorShape& shape) {
  NaiveTensor result(shape);
  Coordinates at(shape.dims);
  for (int64_t i = 0; i < shape.element_count(); ++i, at.Next()) {
    result.integers[i] = at[special.params[0]];
  }
  return result;
}

NaiveTensor Random(const TensorShape& shape, const NaiveTensor& seed) {
  const auto low = static_cast<uint64_t>(seed.integers[0]);
  const uint64_t high =
      seed.shape.rank() == 1 ? static_cast<uint64_t>(seed.integers[1]) : low >> 32;
  NaiveTensor result(shape);
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    result.reals[i] = RandomUniform(static_cast<uint64_t>(i),
                                    {static_cast<uint32_t>(low), static_cast<uint32_t>(high)});
  }
  return result;
}

}  // namespace

NaiveTensor EvaluateSpecial(const Special& special, const TensorShape& shape,
                            NaiveOperands operands) {
  switch (special.kind) {
    case SpecialKind::kReshape: {
      NaiveTensor result = *operands[0];
      result.shape = shape;
      return result;
    }
    case SpecialKind::kIndex:
      return IndexOf(special, shape);
    case SpecialKind::kGather:
    case SpecialKind::kGatherElements:
    case SpecialKind::kGatherNd:
      return EvaluateGather(special, shape, operands);
    case SpecialKind::kScatter:
    case SpecialKind::kScatterElements:
    case SpecialKind::kScatterNd:
      return EvaluateScatter(special, shape, operands);
    case SpecialKind::kSort:
    case SpecialKind::kArgSort:
      return Sort(special, shape, *operands[0]);
    case SpecialKind::kCumSum:
    case SpecialKind::kCumProd:
      return Accumulate(special, shape, *operands[0]);
    case SpecialKind::kPrng:
      return Random(shape, *operands[0]);
    case SpecialKind::kCustomGradient:
      return *operands[0];
  }
  return NaiveTensor(shape);
}

}  // namespace tartan::ir
