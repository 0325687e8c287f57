// SPDX-License-Identifier: Apache-2.0
#include "tile/base/host_tensor.h"

#include <algorithm>
#include <utility>

#include "tile/base/float16.h"

namespace tartan {
namespace {

template <class T>
T LoadAs(const uint8_t* buffer, int64_t i) {
  T value;
  std::memcpy(&value, buffer + i * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void StoreAs(T value, int64_t i, uint8_t* buffer) {
  std::memcpy(buffer + i * sizeof(T), &value, sizeof(T));
}

// Reads element `i` as T (double or int64_t).
template <class T>
T LoadElement(DataType type, const uint8_t* buffer, int64_t i) {
  switch (type) {
    case DataType::kBool:
    case DataType::kUInt8:
      return static_cast<T>(LoadAs<uint8_t>(buffer, i));
    case DataType::kInt8:
      return static_cast<T>(LoadAs<int8_t>(buffer, i));
    case DataType::kInt16:
      return static_cast<T>(LoadAs<int16_t>(buffer, i));
    case DataType::kInt32:
      return static_cast<T>(LoadAs<int32_t>(buffer, i));
    case DataType::kInt64:
      return static_cast<T>(LoadAs<int64_t>(buffer, i));
    case DataType::kUInt16:
      return static_cast<T>(LoadAs<uint16_t>(buffer, i));
    case DataType::kUInt32:
      return static_cast<T>(LoadAs<uint32_t>(buffer, i));
    case DataType::kUInt64:
      return static_cast<T>(LoadAs<uint64_t>(buffer, i));
    case DataType::kFloat16:
      return static_cast<T>(HalfToFloat(LoadAs<uint16_t>(buffer, i)));
    case DataType::kBFloat16:
      return static_cast<T>(BFloat16ToFloat(LoadAs<uint16_t>(buffer, i)));
    case DataType::kFloat32:
      return static_cast<T>(LoadAs<float>(buffer, i));
    case DataType::kFloat64:
      return static_cast<T>(LoadAs<double>(buffer, i));
    case DataType::kInvalid:
      break;
  }
  return T{};
}

// Saturates, because converting a double outside the range of int64 is undefined behaviour in C++.
int64_t ToInt64(double value) {
  if (value != value) return 0;
  if (value >= 9223372036854775808.0) return INT64_MAX;
  if (value < -9223372036854775808.0) return INT64_MIN;
  return static_cast<int64_t>(value);
}

// Checks bytes from files or callers: a bool must be 0 or 1.
bool IsValid(DataType type, absl::Span<const uint8_t> bytes) {
  return type != DataType::kBool ||
         std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte <= 1; });
}

}  // namespace

HostTensor::HostTensor(TensorShape shape, absl::Span<const uint8_t> bytes)
    : shape_(std::move(shape)) {
  auto storage = std::make_shared<std::vector<uint8_t>>(bytes.begin(), bytes.end());
  if (shape_.type == DataType::kBool) {
    for (uint8_t& byte : *storage) byte = byte != 0;
  }
  bytes_ = *storage;
  owner_ = std::move(storage);
}

HostTensor::HostTensor(TensorShape shape, absl::Span<const uint8_t> bytes,
                       std::shared_ptr<const void> owner)
    : shape_(std::move(shape)), bytes_(bytes), owner_(std::move(owner)) {
  if (!IsValid(shape_.type, bytes)) *this = HostTensor(shape_, bytes);
}

HostTensor HostTensor::Zeros(TensorShape shape) {
  auto storage = std::make_shared<std::vector<uint8_t>>(shape.byte_size());
  absl::Span<const uint8_t> bytes = *storage;
  return HostTensor(std::move(shape), bytes, std::move(storage));
}

double HostTensor::GetDouble(int64_t i) const {
  return LoadElement<double>(shape_.type, bytes_.data(), i);
}

int64_t HostTensor::GetInt(int64_t i) const {
  if (IsFloat(shape_.type)) return ToInt64(GetDouble(i));
  return LoadElement<int64_t>(shape_.type, bytes_.data(), i);
}

std::vector<int64_t> HostTensor::ToInts() const {
  std::vector<int64_t> values(element_count());
  for (size_t i = 0; i < values.size(); ++i) values[i] = GetInt(i);
  return values;
}

std::vector<double> HostTensor::ToDoubles() const {
  std::vector<double> values(element_count());
  for (size_t i = 0; i < values.size(); ++i) values[i] = GetDouble(i);
  return values;
}

HostTensor HostTensor::Reshaped(std::vector<int64_t> dims) const {
  HostTensor result = *this;
  result.shape_.dims = std::move(dims);
  return result;
}

void StoreElement(DataType type, int64_t value, int64_t i, uint8_t* buffer) {
  switch (type) {
    case DataType::kBool:
      return StoreAs<uint8_t>(value != 0, i, buffer);
    case DataType::kInt8:
    case DataType::kUInt8:
      return StoreAs(static_cast<uint8_t>(value), i, buffer);
    case DataType::kInt16:
    case DataType::kUInt16:
      return StoreAs(static_cast<uint16_t>(value), i, buffer);
    case DataType::kInt32:
    case DataType::kUInt32:
      return StoreAs(static_cast<uint32_t>(value), i, buffer);
    case DataType::kInt64:
    case DataType::kUInt64:
      return StoreAs(value, i, buffer);
    default:
      return StoreElement(type, static_cast<double>(value), i, buffer);
  }
}

void StoreElement(DataType type, double value, int64_t i, uint8_t* buffer) {
  switch (type) {
    case DataType::kFloat16:
      return StoreAs(FloatToHalf(static_cast<float>(value)), i, buffer);
    case DataType::kBFloat16:
      return StoreAs(FloatToBFloat16(static_cast<float>(value)), i, buffer);
    case DataType::kFloat32:
      return StoreAs(static_cast<float>(value), i, buffer);
    case DataType::kFloat64:
      return StoreAs(value, i, buffer);
    case DataType::kBool:
      return StoreAs<uint8_t>(value != 0, i, buffer);
    case DataType::kUInt64:
      if (value >= 9223372036854775808.0 && value < 18446744073709551616.0) {
        return StoreAs(static_cast<uint64_t>(value), i, buffer);
      }
      return StoreElement(type, ToInt64(value), i, buffer);
    case DataType::kInvalid:
      return;
    default:
      return StoreElement(type, ToInt64(value), i, buffer);
  }
}

}  // namespace tartan
