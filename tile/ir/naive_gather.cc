// SPDX-License-Identifier: Apache-2.0
// Evaluates gathers and scatters by their definitions.
#include <algorithm>
#include <vector>

#include "tile/base/scalar_value.h"
#include "tile/ir/naive_special.h"

namespace tartan::ir {
namespace {

using Dims = absl::Span<const int64_t>;

int64_t Product(Dims dims) {
  int64_t product = 1;
  for (const int64_t dim : dims) product *= dim;
  return product;
}

// Negative positions count from the end.
int64_t FromEnd(int64_t position, int64_t size) {
  return position < 0 ? position + size : position;
}

int64_t Clamped(int64_t position, int64_t size) {
  return std::clamp<int64_t>(FromEnd(position, size), 0, size - 1);
}

// The number of the slice at position `indices[begin]`, `indices[begin + 1]` … of a tensor with
// these leading sizes; -1 for a position out of range.
int64_t SliceAt(Dims leading, const std::vector<int64_t>& indices, int64_t begin) {
  int64_t flat = 0;
  for (size_t d = 0; d < leading.size(); ++d) {
    const int64_t position = FromEnd(indices[begin + d], leading[d]);
    if (position < 0 || position >= leading[d]) return -1;
    flat = flat * leading[d] + position;
  }
  return flat;
}

// Calls visit(to, from) with the elements of both tensors, which have the same type.
template <class Visit>
void WithElements(NaiveTensor& to, const NaiveTensor& from, const Visit& visit) {
  to.is_real() ? visit(to.reals.data(), from.reals.data())
               : visit(to.integers.data(), from.integers.data());
}

NaiveTensor Gather(const Special& special, const TensorShape& shape, NaiveOperands operands) {
  const NaiveTensor& data = *operands[0];
  const std::vector<int64_t>& indices = operands[1]->integers;
  const auto count = static_cast<int64_t>(indices.size());
  const Dims dims = data.shape.dims;
  const int64_t axis = special.params[0];
  const int64_t size = dims[axis];
  const int64_t outer = Product(dims.subspan(0, axis));
  const int64_t inner = Product(dims.subspan(axis + 1));
  NaiveTensor result(shape);
  WithElements(result, data, [&](auto* to, const auto* from) {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < count; ++i) {
        const auto* const slice = from + (o * size + Clamped(indices[i], size)) * inner;
        to = std::copy_n(slice, inner, to);
      }
    }
  });
  return result;
}

// The flat offset in `data` of the coordinates, with the coordinate along `axis` replaced. Missing
// trailing coordinates are 0.
int64_t ReplacedOffset(Dims data, const Coordinates& at, int64_t axis, int64_t replacement) {
  int64_t flat = 0;
  for (size_t d = 0; d < data.size(); ++d) {
    const int64_t coordinate = d < at.values().size() ? at[d] : 0;
    flat = flat * data[d] + (static_cast<int64_t>(d) == axis ? replacement : coordinate);
  }
  return flat;
}

NaiveTensor GatherElements(const Special& special, const TensorShape& shape,
                           NaiveOperands operands) {
  const NaiveTensor& data = *operands[0];
  const int64_t axis = special.params[0];
  const std::vector<int64_t>& indices = operands[1]->integers;
  const int64_t size = data.shape.dims[axis];
  const int64_t stride = RowMajorStrides(data.shape.dims)[axis];
  const int64_t run = shape.dims.back();
  const int64_t step = axis + 1 == data.shape.rank() ? 0 : 1;  // along the last axis
  NaiveTensor result(shape);
  WithElements(result, data, [&](auto* to, const auto* from) {
    Coordinates at(Dims(shape.dims).subspan(0, shape.dims.size() - 1));
    for (int64_t i = 0; i < shape.element_count(); at.Next()) {
      const auto* const line = from + ReplacedOffset(data.shape.dims, at, axis, 0);
      for (int64_t k = 0; k < run; ++k, ++i) {
        to[i] = line[Clamped(indices[i], size) * stride + k * step];
      }
    }
  });
  return result;
}

NaiveTensor GatherNd(const Special& special, const TensorShape& shape, NaiveOperands operands) {
  const NaiveTensor& data = *operands[0];
  const NaiveTensor& indices = *operands[1];
  const Dims dims = data.shape.dims;
  const int64_t batch_dims = special.params[0];
  const int64_t depth = indices.shape.dims.back();
  const Dims indexed = dims.subspan(batch_dims, depth);
  const int64_t inner = Product(dims.subspan(batch_dims + depth));
  const int64_t batches = Product(dims.subspan(0, batch_dims));
  NaiveTensor result(shape);
  if (shape.element_count() == 0) return result;
  const int64_t slices = shape.element_count() / inner;
  for (int64_t i = 0; i < slices; ++i) {
    int64_t flat = i / (slices / batches);
    for (int64_t d = 0; d < depth; ++d) {
      flat = flat * indexed[d] + Clamped(indices.integers[i * depth + d], indexed[d]);
    }
    for (int64_t k = 0; k < inner; ++k) result.Copy(i * inner + k, data, flat * inner + k);
  }
  return result;
}

// Applies element `j` of `updates` to element `i` of the result. An assigned element is rounded to
// the result's type.
void Update(NaiveTensor& result, int64_t i, const NaiveTensor& updates, int64_t j,
            ScatterMode mode) {
  constexpr ScalarOp kOps[] = {ScalarOp::kIdentity, ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kMin,
                               ScalarOp::kMax};
  const ScalarOp op = kOps[static_cast<size_t>(mode)];
  const DataType type = result.shape.type;
  if (!result.is_real()) {
    result.integers[i] = mode == ScatterMode::kAssign
                             ? updates.integers[j]
                             : ApplyInteger(op, result.integers[i], updates.integers[j], type);
  } else if (mode == ScatterMode::kAdd || mode == ScatterMode::kMul) {
    const double sum = ApplyReal(op, result.reals[i], updates.reals[j]);
    result.reals[i] = RoundReal(sum, ComputeType(type));
  } else {
    const double update = RoundReal(updates.reals[j], type);
    result.reals[i] =
        mode == ScatterMode::kAssign ? update : ApplyReal(op, result.reals[i], update);
  }
}

NaiveTensor Scatter(const TensorShape& shape, NaiveOperands operands) {
  const NaiveTensor& updates = *operands[0];
  const std::vector<int64_t>& indices = operands[1]->integers;
  NaiveTensor result(shape);
  const int64_t inner = Product(Dims(shape.dims).subspan(1));
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t slice = SliceAt(Dims(shape.dims).subspan(0, 1), indices, static_cast<int64_t>(i));
    if (slice < 0) continue;
    for (int64_t k = 0; k < inner; ++k) {
      Update(result, slice * inner + k, updates, static_cast<int64_t>(i) * inner + k,
             ScatterMode::kAdd);
    }
  }
  return result;
}

NaiveTensor ScatterElements(const Special& special, NaiveOperands operands) {
  NaiveTensor result = *operands[0];
  const NaiveTensor& indices = *operands[1];
  const int64_t axis = special.params[0];
  const int64_t size = result.shape.dims[axis];
  Coordinates at(indices.shape.dims);
  for (int64_t i = 0; i < indices.shape.element_count(); ++i, at.Next()) {
    const int64_t position = FromEnd(indices.integers[i], size);
    if (position < 0 || position >= size) continue;
    Update(result, ReplacedOffset(result.shape.dims, at, axis, position), *operands[2], i,
           static_cast<ScatterMode>(special.params[1]));
  }
  return result;
}

NaiveTensor ScatterNd(const Special& special, NaiveOperands operands) {
  NaiveTensor result = *operands[0];
  const TensorShape shape = result.shape;
  const NaiveTensor& indices = *operands[1];
  const int64_t depth = indices.shape.dims.back();
  const Dims leading = Dims(shape.dims).subspan(0, depth);
  const int64_t inner = Product(Dims(shape.dims).subspan(depth));
  const int64_t slices = Product(Dims(indices.shape.dims).subspan(0, indices.shape.rank() - 1));
  for (int64_t i = 0; i < slices; ++i) {
    const int64_t slice = SliceAt(leading, indices.integers, i * depth);
    if (slice < 0) continue;
    for (int64_t k = 0; k < inner; ++k) {
      Update(result, slice * inner + k, *operands[2], i * inner + k,
             static_cast<ScatterMode>(special.params[0]));
    }
  }
  return result;
}

}  // namespace

NaiveTensor EvaluateGather(const Special& special, const TensorShape& shape,
                           NaiveOperands operands) {
  if (special.kind == SpecialKind::kGather) return Gather(special, shape, operands);
  if (special.kind == SpecialKind::kGatherElements) return GatherElements(special, shape, operands);
  return GatherNd(special, shape, operands);
}

NaiveTensor EvaluateScatter(const Special& special, const TensorShape& shape,
                            NaiveOperands operands) {
  if (special.kind == SpecialKind::kScatter) return Scatter(shape, operands);
  if (special.kind == SpecialKind::kScatterElements) return ScatterElements(special, operands);
  return ScatterNd(special, operands);
}

}  // namespace tartan::ir
