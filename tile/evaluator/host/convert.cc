// SPDX-License-Identifier: Apache-2.0
#include "tile/evaluator/host/convert.h"

#include <cstring>
#include <memory>
#include <vector>

namespace tartan::evaluator {
namespace {

// memcpy, because elements in files may be unaligned.
template <class T, class Wide>
void Read(absl::Span<const uint8_t> bytes, std::vector<Wide>& elements) {
  for (size_t i = 0; i < elements.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    elements[i] = static_cast<Wide>(value);
  }
}

template <class T, class Wide>
HostTensor Write(const TensorShape& shape, const std::vector<Wide>& elements) {
  auto storage = std::make_shared<std::vector<T>>(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) (*storage)[i] = static_cast<T>(elements[i]);
  const absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(storage->data()),
                                        elements.size() * sizeof(T));
  return HostTensor(shape, bytes, std::move(storage));
}

}  // namespace

ir::NaiveTensor Widen(const HostTensor& tensor) {
  const DataType type = tensor.type();
  if (type != DataType::kFloat32 && type != DataType::kInt32 && type != DataType::kInt64) {
    return ir::FromHost(tensor);
  }
  ir::NaiveTensor result(tensor.shape());
  if (type == DataType::kFloat32) {
    Read<float>(tensor.bytes(), result.reals);
  } else if (type == DataType::kInt32) {
    Read<int32_t>(tensor.bytes(), result.integers);
  } else {
    Read<int64_t>(tensor.bytes(), result.integers);
  }
  return result;
}

HostTensor Narrow(const ir::NaiveTensor& tensor) {
  switch (tensor.shape.type) {
    case DataType::kFloat32:
      return Write<float>(tensor.shape, tensor.reals);
    case DataType::kInt32:
      return Write<int32_t>(tensor.shape, tensor.integers);
    case DataType::kInt64:
      return Write<int64_t>(tensor.shape, tensor.integers);
    default:
      return ir::ToHost(tensor);
  }
}

}  // namespace tartan::evaluator
