// SPDX-License-Identifier: Apache-2.0
// A tensor in host memory: contents of files, inputs and outputs of programs, values in the
// importer.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tile/base/shape.h"

namespace tartan {

// Immutable and cheap to copy: the bytes are shared. Dense row-major, native endianness.
class HostTensor {
 public:
  HostTensor() = default;
  // Copies `bytes`; requires bytes.size() == shape.byte_size().
  HostTensor(TensorShape shape, absl::Span<const uint8_t> bytes);
  // Shares memory that `owner` keeps alive (a mapped file).
  HostTensor(TensorShape shape, absl::Span<const uint8_t> bytes, std::shared_ptr<const void> owner);

  template <class T>
  static HostTensor FromVector(TensorShape shape, const std::vector<T>& values) {
    return HostTensor(std::move(shape),
                      {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)});
  }
  static HostTensor Zeros(TensorShape shape);

  const TensorShape& shape() const { return shape_; }
  DataType type() const { return shape_.type; }
  int64_t element_count() const { return shape_.element_count(); }
  absl::Span<const uint8_t> bytes() const { return bytes_; }

  // Returns whether this object is the only owner of the memory, so that its last reader may modify
  // it.
  bool is_unshared() const { return owner_.use_count() == 1; }

  // The element at a flat index, converted. GetInt is exact for 64-bit integers (uint64 as bits).
  double GetDouble(int64_t i) const;
  int64_t GetInt(int64_t i) const;
  std::vector<int64_t> ToInts() const;
  std::vector<double> ToDoubles() const;

  // The same bytes with other sizes; requires an equal element count.
  HostTensor Reshaped(std::vector<int64_t> dims) const;

 private:
  TensorShape shape_;
  absl::Span<const uint8_t> bytes_;
  std::shared_ptr<const void> owner_;
};

// Writes `value` as element `i` of a dense buffer of `type`. Floats are rounded to the type's
// precision; integer types truncate toward zero and wrap.
void StoreElement(DataType type, double value, int64_t i, uint8_t* buffer);
void StoreElement(DataType type, int64_t value, int64_t i, uint8_t* buffer);

}  // namespace tartan
