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

// Wrappers for element types without a C++ equivalent.
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

// Returns true if an integer type can represent the value.
template <class T, class V>
bool Holds(V value) {
  if constexpr (std::is_same_v<T, Bool>) {
    return value == V{0} || value == V{1};
  } else if constexpr (std::is_integral_v<V>) {
    return std::in_range<T>(value);
  } else {
    // Powers of two, or zero: exact in double.
    const double low = static_cast<double>(std::numeric_limits<T>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
    return value >= low && value < high && std::trunc(value) == value;
  }
}

bool IsFinite(double value) { return std::isfinite(value); }

// Stores the value; returns whether the type can represent it. Infinity in a float type is valid
// only if `was_finite` is false.
template <class To, class Wide>
bool Put(Wide value, bool was_finite, To* to) {
  if constexpr (std::is_same_v<To, Half>) {
    to->bits = FloatToHalf(static_cast<float>(value));
    return IsFinite(HalfToFloat(to->bits)) || !was_finite;
  } else if constexpr (std::is_same_v<To, BFloat>) {
    to->bits = FloatToBFloat16(static_cast<float>(value));
    return IsFinite(BFloat16ToFloat(to->bits)) || !was_finite;
  } else if constexpr (std::is_floating_point_v<To>) {
    *to = static_cast<To>(value);
    return IsFinite(*to) || !was_finite;
  } else if constexpr (std::is_same_v<To, Bool>) {
    to->value = value != Wide{0};
    return Holds<To>(value);
  } else {
    const bool holds = Holds<To>(value);
    *to = holds ? static_cast<To>(value) : To{0};
    return holds;
  }
}

template <class Bits, class T>
bool AllFinite(const T* values, Bits exponent) {
  Bits bits[kBlock];
  std::memcpy(bits, values, sizeof(bits));
  Bits wild = 0;
  for (int64_t i = 0; i < kBlock; ++i) wild |= static_cast<Bits>((bits[i] & exponent) == exponent);
  return wild == 0;
}

// A block of elements in a type that represents them exactly: int64_t and uint64_t for themselves,
// double for all other types and for scaled values.
template <class Wide>
struct Block {
  Wide values[kBlock] = {};

  template <class From>
  void Load(const uint8_t* from, int64_t count, double scale) {
    From read[kBlock];
    std::memcpy(read, from, count * sizeof(From));
    for (int64_t i = 0; i < count; ++i) {
      values[i] = static_cast<Wide>(Number(read[i]));
      if constexpr (std::is_same_v<Wide, double>) values[i] *= scale;
    }
  }

  // Fast path for finite values, with loops that compilers vectorise. Stores the block and returns
  // true if all results are finite.
  template <class To>
  bool StoreFinite(int64_t count, uint8_t* to) const {
    if constexpr (!std::is_floating_point_v<To>) {
      return false;
    } else {
      using Bits = std::conditional_t<sizeof(To) == 4, uint32_t, uint64_t>;
      To written[kBlock];
      for (int64_t i = 0; i < kBlock; ++i) written[i] = static_cast<To>(values[i]);
      std::memcpy(to, written, count * sizeof(To));
      return AllFinite(written, sizeof(To) == 4 ? Bits{0x7f800000} : Bits(0x7ff0000000000000));
    }
  }

  // Returns the first element that the type cannot represent; `raw` has the values before scaling.
  template <class To>
  std::optional<int64_t> Store(const Block& raw, int64_t count, uint8_t* to) const {
    To written[kBlock];
    for (int64_t i = 0; i < count; ++i) {
      const bool was_finite = IsFinite(static_cast<double>(raw.values[i]));
      if (!Put(values[i], was_finite, &written[i])) return i;
    }
    std::memcpy(to, written, count * sizeof(To));
    return std::nullopt;
  }
};

template <class Wide>
void LoadBlock(DataType type, const uint8_t* from, int64_t count, double scale,
               Block<Wide>* block) {
  WithType(type, [&](auto value) {
    using From = decltype(value);
    if constexpr (std::is_same_v<Wide, double> || std::is_same_v<Wide, From>) {
      block->template Load<From>(from, count, scale);
    }
  });
}

template <class Wide>
std::optional<int64_t> ConvertAs(DataType from_type, absl::Span<const uint8_t> from, double scale,
                                 DataType to_type, absl::Span<uint8_t> out) {
  const int64_t from_width = ByteWidth(from_type);
  const int64_t to_width = ByteWidth(to_type);
  const int64_t count = static_cast<int64_t>(from.size()) / from_width;
  Block<Wide> block;
  Block<Wide> raw;
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t size = std::min(kBlock, count - start);
    LoadBlock(from_type, from.data() + start * from_width, size, scale, &block);
    uint8_t* to = out.data() + start * to_width;
    bool is_stored = false;
    WithType(to_type, [&](auto value) {
      is_stored = block.template StoreFinite<decltype(value)>(size, to);
    });
    if (is_stored) continue;
    LoadBlock(from_type, from.data() + start * from_width, size, 1, &raw);
    std::optional<int64_t> lost;
    WithType(to_type,
             [&](auto value) { lost = block.template Store<decltype(value)>(raw, size, to); });
    if (lost.has_value()) return start + *lost;
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
  if (from_type == DataType::kInt64 && scale == 1) {
    return ConvertAs<int64_t>(from_type, from, scale, to_type, out);
  }
  if (from_type == DataType::kUInt64 && scale == 1) {
    return ConvertAs<uint64_t>(from_type, from, scale, to_type, out);
  }
  return ConvertAs<double>(from_type, from, scale, to_type, out);
}

}  // namespace tartan::data
