// SPDX-License-Identifier: Apache-2.0
// The tensors of the naive evaluator: every element as a double or an int64.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tile/base/host_tensor.h"

namespace tartan::ir {

struct NaiveTensor {
  NaiveTensor() = default;
  explicit NaiveTensor(TensorShape of_shape);  // filled with zeros

  bool is_real() const { return IsFloat(shape.type); }
  // Copies element `j` of `from`, which has the same type, to element `i`.
  void Copy(int64_t i, const NaiveTensor& from, int64_t j);

  TensorShape shape;
  std::vector<double> reals;      // elements of float types
  std::vector<int64_t> integers;  // elements of integer types and bool
};

NaiveTensor FromHost(const HostTensor& tensor);
HostTensor ToHost(const NaiveTensor& tensor);

// Every element cast to `type`.
NaiveTensor Cast(const NaiveTensor& tensor, DataType type);

// A tensor whose elements can be used as `type`: `tensor` itself if the representation is the same,
// otherwise `storage`, which receives the cast elements. Between floats, `type` must not be
// narrower.
const NaiveTensor& ReadAs(const NaiveTensor& tensor, DataType type, NaiveTensor& storage);

// Enumerates the coordinates of a tensor in row-major order.
class Coordinates {
 public:
  explicit Coordinates(absl::Span<const int64_t> dims)
      : dims_(dims.begin(), dims.end()), values_(dims.size()) {}

  int64_t operator[](size_t i) const { return values_[i]; }
  absl::Span<const int64_t> values() const { return values_; }
  void Next() {
    for (size_t d = dims_.size(); d-- > 0;) {
      if (++values_[d] < dims_[d]) return;
      values_[d] = 0;
    }
  }

 private:
  std::vector<int64_t> dims_;
  std::vector<int64_t> values_;
};

}  // namespace tartan::ir
