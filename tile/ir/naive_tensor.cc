// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/naive_tensor.h"

#include <memory>
#include <utility>

#include "tile/base/scalar_value.h"

namespace tartan::ir {

NaiveTensor::NaiveTensor(TensorShape of_shape) : shape(std::move(of_shape)) {
  if (is_real()) {
    reals.resize(shape.element_count());
  } else {
    integers.resize(shape.element_count());
  }
}

void NaiveTensor::Copy(int64_t i, const NaiveTensor& from, int64_t j) {
  if (is_real()) {
    reals[i] = from.reals[j];
  } else {
    integers[i] = from.integers[j];
  }
}

NaiveTensor FromHost(const HostTensor& tensor) {
  NaiveTensor result;
  result.shape = tensor.shape();
  if (result.is_real()) {
    result.reals = tensor.ToDoubles();
  } else {
    result.integers = tensor.ToInts();
  }
  return result;
}

HostTensor ToHost(const NaiveTensor& tensor) {
  auto storage = std::make_shared<std::vector<uint8_t>>(tensor.shape.byte_size());
  const int64_t count = tensor.shape.element_count();
  const DataType type = tensor.shape.type;
  for (int64_t i = 0; i < count; ++i) {
    if (tensor.is_real()) {
      StoreElement(type, tensor.reals[i], i, storage->data());
    } else {
      StoreElement(type, tensor.integers[i], i, storage->data());
    }
  }
  const absl::Span<const uint8_t> bytes = *storage;
  return HostTensor(tensor.shape, bytes, std::move(storage));
}

NaiveTensor Cast(const NaiveTensor& tensor, DataType type) {
  NaiveTensor result(TensorShape{type, tensor.shape.dims});
  const DataType from = tensor.shape.type;
  const int64_t count = tensor.shape.element_count();
  for (int64_t i = 0; i < count; ++i) {
    if (result.is_real()) {
      result.reals[i] = tensor.is_real() ? RoundReal(tensor.reals[i], type)
                                         : RealFromInteger(tensor.integers[i], from, type);
    } else {
      result.integers[i] = tensor.is_real()
                               ? IntegerFromReal(tensor.reals[i], type)
                               : WrapInteger(static_cast<uint64_t>(tensor.integers[i]), type);
    }
  }
  return result;
}

const NaiveTensor& ReadAs(const NaiveTensor& tensor, DataType type, NaiveTensor& storage) {
  if (tensor.shape.type == type || (tensor.is_real() && IsFloat(type))) return tensor;
  storage = Cast(tensor, type);
  return storage;
}

}  // namespace tartan::ir
