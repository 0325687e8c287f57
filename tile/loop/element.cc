// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/element.h"

#include <cstring>

#include "tile/base/float16.h"

namespace tartan::loop {
namespace {

template <class T>
T ReadAs(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
void WriteAs(T value, uint8_t* bytes) {
  std::memcpy(bytes, &value, sizeof(T));
}

}  // namespace

Scalar ReadElement(DataType stored, const uint8_t* bytes) {
  switch (stored) {
    case DataType::kBool:
      return {ReadAs<uint8_t>(bytes), 0};
    case DataType::kInt8:
      return {ReadAs<int8_t>(bytes), 0};
    case DataType::kInt16:
      return {ReadAs<int16_t>(bytes), 0};
    case DataType::kInt32:
      return {ReadAs<int32_t>(bytes), 0};
    case DataType::kInt64:
      return {ReadAs<int64_t>(bytes), 0};
    case DataType::kUInt8:
      return {ReadAs<uint8_t>(bytes), 0};
    case DataType::kUInt16:
      return {ReadAs<uint16_t>(bytes), 0};
    case DataType::kUInt32:
      return {ReadAs<uint32_t>(bytes), 0};
    case DataType::kUInt64:
      return {ReadAs<int64_t>(bytes), 0};
    case DataType::kFloat16:
      return {0, HalfToFloat(ReadAs<uint16_t>(bytes))};
    case DataType::kBFloat16:
      return {0, BFloat16ToFloat(ReadAs<uint16_t>(bytes))};
    case DataType::kFloat32:
      return {0, ReadAs<float>(bytes)};
    case DataType::kFloat64:
      return {0, ReadAs<double>(bytes)};
    case DataType::kInvalid:
      break;
  }
  return {};
}

void WriteElement(DataType stored, const Scalar& value, uint8_t* bytes) {
  switch (stored) {
    case DataType::kFloat16:
      return WriteAs(FloatToHalf(static_cast<float>(value.real)), bytes);
    case DataType::kBFloat16:
      return WriteAs(FloatToBFloat16(static_cast<float>(value.real)), bytes);
    case DataType::kFloat32:
      return WriteAs(static_cast<float>(value.real), bytes);
    case DataType::kFloat64:
      return WriteAs(value.real, bytes);
    default:
      break;
  }
  switch (ByteWidth(stored)) {
    case 1:
      return WriteAs(static_cast<uint8_t>(value.integer), bytes);
    case 2:
      return WriteAs(static_cast<uint16_t>(value.integer), bytes);
    case 4:
      return WriteAs(static_cast<uint32_t>(value.integer), bytes);
    default:
      return WriteAs(value.integer, bytes);
  }
}

}  // namespace tartan::loop
