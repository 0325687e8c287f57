// SPDX-License-Identifier: Apache-2.0
#include "tile/base/shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tartan {

int64_t TensorShape::element_count() const {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

std::string TensorShape::ToString() const { return absl::StrCat(Name(type), DimsToString(dims)); }

absl::Status CheckShape(const TensorShape& shape) {
  if (shape.type == DataType::kInvalid) {
    return absl::InvalidArgumentError(absl::StrCat("shape ", shape.ToString(), " has no type"));
  }
  // The non-zero sizes must fit, too, because strides are computed from them.
  int64_t bytes = ByteWidth(shape.type);
  for (int64_t dim : shape.dims) {
    if (dim < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", shape.ToString(), " has the negative size ", dim));
    }
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(dim, 1), &bytes) ||
        bytes > (int64_t{1} << 62)) {
      return absl::ResourceExhaustedError(
          absl::StrCat("shape ", shape.ToString(), " has more bytes than can be addressed"));
    }
  }
  return absl::OkStatus();
}

std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(dims[i], 1);
  }
  return strides;
}

absl::StatusOr<std::vector<int64_t>> BroadcastDims(absl::Span<const int64_t> a,
                                                   absl::Span<const int64_t> b) {
  std::vector<int64_t> result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t from_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t from_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("shapes ", DimsToString(a), " and ", DimsToString(b), " do not broadcast"));
    }
    result[result.size() - 1 - i] = from_a == 1 ? from_b : from_a;
  }
  return result;
}

std::string DimsToString(absl::Span<const int64_t> dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ", "), "]");
}

std::ostream& operator<<(std::ostream& out, const TensorShape& shape) {
  return out << shape.ToString();
}

}  // namespace tartan
