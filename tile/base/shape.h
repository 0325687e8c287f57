// SPDX-License-Identifier: Apache-2.0
// The type and sizes of a tensor. Its layout is always dense and row-major; the compiler represents
// other layouts by other shapes.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/base/data_type.h"

namespace tartan {

struct TensorShape {
  DataType type = DataType::kInvalid;
  std::vector<int64_t> dims;  // empty: a scalar

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  // The number of elements; 1 for a scalar. Requires a shape that CheckShape accepts.
  int64_t element_count() const;
  int64_t byte_size() const { return element_count() * ByteWidth(type); }
  // "float32[1, 3, 224, 224]".
  std::string ToString() const;

  bool operator==(const TensorShape&) const = default;
};

// InvalidArgument for a negative size or an invalid type, ResourceExhausted if the bytes exceed
// 2^62.
absl::Status CheckShape(const TensorShape& shape);

// The distance in elements between adjacent elements along each dimension of a dense row-major
// tensor.
std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> dims);

// NumPy broadcasting, right-aligned; InvalidArgument names both shapes when they do not match.
absl::StatusOr<std::vector<int64_t>> BroadcastDims(absl::Span<const int64_t> a,
                                                   absl::Span<const int64_t> b);

std::string DimsToString(absl::Span<const int64_t> dims);  // "[1, 3]"

std::ostream& operator<<(std::ostream& out, const TensorShape& shape);

}  // namespace tartan
