// SPDX-License-Identifier: Apache-2.0
#include "frontend/data/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "tile/base/float16.h"

namespace tartan::data {
namespace {

constexpr int64_t kBlock = 256;

// Types whose elements are not numbers of C++.
struct Bool {
  uint8_t value;
};
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

// Calls `body` with a value of the type.
template <class Body>
void WithType(DataType type, const Body& body) {
  switch (type) {
    case DataType::kBool:
      return body(Bool{});
    case DataType::kInt8:
      return body(int8_t{});
    case DataType::kInt16:
      return body(int16_t{});
    case DataType::kInt32:
      return body(int32_t{});
    case DataType::kInt64:
      return body(int64_t{});
    case DataType::kUInt8:
      return body(uint8_t{});
    case DataType::kUInt16:
      return body(uint16_t{});
    case DataType::kUInt32:
      return body(uint32_t{});
    case DataType::kUInt64:
      return body(uint64_t{});
    case DataType::kFloat16:
      return body(Half{});
    case DataType::kBFloat16:
      return body(BFloat{});
    case DataType::kFloat32:
      return body(float{});
    case DataType::kFloat64:
      return body(double{});
    case DataType::kInvalid:
      return;
  }
}

template <class T>
auto Number(T value) {
  if constexpr (std::is_same_v<T, Bool>) {
    return static_cast<uint8_t>(value.value != 0);
  } else if constexpr (std::is_same_v<T, Half>) {
    return HalfToFloat(value.bits);
  } else if constexpr (std::is_same_v<T, BFloat>) {
    return BFloat16ToFloat(value.bits);
  } else {
    return value;
  }
}

// Whether an integer type has this value.
template <class T, class V>
bool Holds(V value) {
  if constexpr (std::is_same_v<T, Bool>) {
    return value == V{0} || value == V{1};
  } else if constexpr (std::is_integral_v<V>) {
    return std::in_range<T>(value);
  } else {
    // Both limits are exact in double: the lower a power of two, the upper one less than one.
    const double low = static_cast<double>(std::numeric_limits<T>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
    return value >= low && value < high && std::trunc(value) == value;
  }
}

// Stores the value; whether the type has it.
template <class T, class V>
bool Put(V value, T* to) {
  if constexpr (std::is_same_v<T, Half>) {
    to->bits = FloatToHalf(static_cast<float>(value));
    return std::isfinite(HalfToFloat(to->bits)) || !std::isfinite(static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, BFloat>) {
    to->bits = FloatToBFloat16(static_cast<float>(value));
    return std::isfinite(BFloat16ToFloat(to->bits)) || !std::isfinite(static_cast<double>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    *to = static_cast<T>(value);
    return std::isfinite(*to) || !std::isfinite(static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, Bool>) {
    to->value = value != V{0};
    return Holds<T>(value);
  } else {
    const bool holds = Holds<T>(value);
    *to = holds ? static_cast<T>(value) : T{0};
    return holds;
  }
}

// Integers beyond 2^53 pass without a scale.
template <class From, class To>
bool ConvertElement(From from, double scale, To* to) {
  if (scale == 1) return Put(Number(from), to);
  return Put(static_cast<double>(Number(from)) * scale, to);
}

template <class From, class To>
std::optional<int64_t> ConvertAs(absl::Span<const uint8_t> from, double scale,
                                 absl::Span<uint8_t> out) {
  const int64_t count = static_cast<int64_t>(from.size() / sizeof(From));
  From read[kBlock];
  To written[kBlock];
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t block = std::min(kBlock, count - start);
    std::memcpy(read, from.data() + start * sizeof(From), block * sizeof(From));
    bool all_held = true;
    for (int64_t i = 0; i < block; ++i) all_held &= ConvertElement(read[i], scale, &written[i]);
    for (int64_t i = 0; !all_held && i < block; ++i) {
      if (!ConvertElement(read[i], scale, &written[i])) return start + i;
    }
    std::memcpy(out.data() + start * sizeof(To), written, block * sizeof(To));
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> Convert(DataType from_type, absl::Span<const uint8_t> from, double scale,
                               DataType to_type, absl::Span<uint8_t> out) {
  if (from_type == to_type && scale == 1) {
    std::copy(from.begin(), from.end(), out.begin());
    return std::nullopt;
  }
  std::optional<int64_t> lost;
  WithType(from_type, [&](auto from_value) {
    WithType(to_type, [&](auto to_value) {
      lost = ConvertAs<decltype(from_value), decltype(to_value)>(from, scale, out);
    });
  });
  return lost;
}

}  // namespace tartan::data
