// SPDX-License-Identifier: Apache-2.0
#include "distributed/host_transport.h"
#include "tile/base/float16.h"

namespace tartan::distributed {
namespace {

template <class T>
void Add(const uint8_t* from, int64_t bytes, uint8_t* to) {
  const auto* added = reinterpret_cast<const T*>(from);
  auto* sums = reinterpret_cast<T*>(to);
  const int64_t count = bytes / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < count; ++i) sums[i] += added[i];
}

void AddBFloat16(const uint8_t* from, int64_t bytes, uint8_t* to) {
  const auto* added = reinterpret_cast<const uint16_t*>(from);
  auto* sums = reinterpret_cast<uint16_t*>(to);
  for (int64_t i = 0; i < bytes / 2; ++i)
    sums[i] = FloatToBFloat16(BFloat16ToFloat(sums[i]) + BFloat16ToFloat(added[i]));
}

}  // namespace

bool IsSummable(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat64 || type == DataType::kInt32 ||
         type == DataType::kInt64 || type == DataType::kBFloat16;
}

void AddElements(DataType type, const uint8_t* from, int64_t bytes, uint8_t* to) {
  switch (type) {
    case DataType::kFloat64:
      return Add<double>(from, bytes, to);
    case DataType::kInt32:
      return Add<uint32_t>(from, bytes, to);  // wraps
    case DataType::kInt64:
      return Add<uint64_t>(from, bytes, to);
    case DataType::kBFloat16:
      return AddBFloat16(from, bytes, to);
    default:
      return Add<float>(from, bytes, to);
  }
}

}  // namespace tartan::distributed
