// SPDX-License-Identifier: Apache-2.0
#include "special_values.h"

#include <cmath>
#include <iterator>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tile/base/host_tensor.h"

namespace tartan {
namespace {

void Append(DataType type, double real, int64_t integer, std::vector<uint8_t>* buffer) {
  const int64_t count = static_cast<int64_t>(buffer->size()) / ByteWidth(type);
  buffer->resize(buffer->size() + ByteWidth(type));
  if (IsFloat(type)) {
    StoreElement(type, real, count, buffer->data());
  } else {
    StoreElement(type, integer, count, buffer->data());
  }
}

HostTensor AsTensor(DataType type, const std::vector<uint8_t>& bytes) {
  return HostTensor({type, {static_cast<int64_t>(bytes.size()) / ByteWidth(type)}}, bytes);
}

// Returns the distance from `x` to the next value of the type.
double UnitInLastPlace(DataType type, double x) {
  const int digits = type == DataType::kFloat64   ? 53
                     : type == DataType::kFloat32 ? 24
                     : type == DataType::kFloat16 ? 11
                                                  : 8;
  const int least = type == DataType::kFloat64 ? -1021 : type == DataType::kFloat16 ? -13 : -125;
  int exponent;
  std::frexp(x, &exponent);
  return std::ldexp(1.0, std::max(exponent, least) - digits);
}

}  // namespace

std::vector<double> SpecialReals(DataType type) {
  std::vector<double> values = {0.0, -0.0, 1,   -1,  0.5,  -0.5,  1.5,  2.5,      -2.5,      3,
                                -7,  10,   100, 0.1, 1e-3, -0.75, 88.5, INFINITY, -INFINITY, NAN};
  if (ByteWidth(type) >= 4) {
    for (double x : {1e10, -1e10, 3e38, -3e38, 1e-30, -104.0, 2147483648.0, 4294967296.0, 1e19,
                     0x1p63, -0x1p63, 0x1p64, 0x1.fffffep-2, 8388609.0, -4194304.5}) {
      values.push_back(x);
    }
  }
  // The largest value, and the smallest normal and subnormal values.
  const bool is_half = type == DataType::kFloat16;
  if (type == DataType::kFloat64) {
    for (double x : {0x1.fffffffffffffp+1023, 0x1p-1022, -0x1.8p-1023, 0x1p-1074}) {
      values.push_back(x);
    }
  } else if (is_half) {
    for (double x : {65504.0, -0x1p-14, 0x1p-24, -0x1.8p-16}) values.push_back(x);
  } else {
    const double greatest = type == DataType::kFloat32 ? 0x1.fffffep+127 : 0x1.fep+127;
    for (double x : {greatest, -0x1p-126, 0x1p-130, -0x1.8p-133}) values.push_back(x);
  }
  return values;
}

std::vector<int64_t> SpecialIntegers(DataType type) {
  if (type == DataType::kBool) return {0, 1};
  // Includes shift counts around every width.
  std::vector<int64_t> values = {0,  1,  2,  3,  7,  8,  10,  15,
                                 16, 31, 32, 33, 63, 64, 100, MaxInteger(type)};
  values.push_back(MaxInteger(type) - 1);
  if (IsSignedInteger(type)) {
    for (int64_t x : {int64_t{-1}, int64_t{-2}, int64_t{-7}, MinInteger(type)}) values.push_back(x);
    values.push_back(MinInteger(type) + 1);
  }
  return values;
}

std::vector<uint8_t> SpecialBuffer(DataType type) {
  std::vector<uint8_t> buffer;
  if (IsFloat(type)) {
    for (double x : SpecialReals(type)) Append(type, x, 0, &buffer);
  } else {
    for (int64_t x : SpecialIntegers(type)) Append(type, 0, x, &buffer);
  }
  while (buffer.size() / ByteWidth(type) % 8 != 0) Append(type, 1, 1, &buffer);
  return buffer;
}

Pairs SpecialPairs(DataType type) {
  const HostTensor values = AsTensor(type, SpecialBuffer(type));
  Pairs pairs;
  for (int64_t i = 0; i < values.element_count(); ++i) {
    for (int64_t j = 0; j < values.element_count(); ++j) {
      Append(type, values.GetDouble(i), values.GetInt(i), &pairs.first);
      Append(type, values.GetDouble(j), values.GetInt(j), &pairs.second);
    }
  }
  return pairs;
}

Pairs SpecialAmongOrdinary(DataType type, int lanes) {
  constexpr double kOrdinary[] = {0.001, 0.375, 1e-6, 2.25, -0.875, -1e-12, 3.9, -2e-5, 1.5, 7.75};
  constexpr int64_t kCount = std::size(kOrdinary);
  std::vector<double> special = SpecialReals(type);
  for (double x : {8.4e6, -8.4e6, 1e-40, 1e5}) special.push_back(x);
  Pairs pairs;
  for (size_t s = 0; s < special.size(); ++s) {
    for (int lane = 0; lane < lanes; ++lane) {
      for (int i = 0; i < lanes; ++i) {
        const bool here = i == lane;
        const int64_t place = static_cast<int64_t>(s) + i;
        Append(type, here ? special[s] : kOrdinary[place % kCount], 0, &pairs.first);
        Append(type, here ? special[(7 * s + 3) % special.size()] : kOrdinary[3 * place % kCount],
               0, &pairs.second);
      }
    }
  }
  return pairs;
}

std::string ToText(DataType type, const std::vector<uint8_t>& buffer, int64_t i) {
  const HostTensor values = AsTensor(type, buffer);
  return IsFloat(type) ? absl::StrFormat("%.9g", values.GetDouble(i))
                       : absl::StrCat(values.GetInt(i));
}

std::string Difference(DataType type, const std::vector<uint8_t>& expected,
                       const std::vector<uint8_t>& actual, int64_t i, double ulps) {
  const HostTensor expected_values = AsTensor(type, expected);
  const HostTensor actual_values = AsTensor(type, actual);
  if (!IsFloat(type)) {
    const int64_t want = expected_values.GetInt(i);
    const int64_t got = actual_values.GetInt(i);
    return want == got ? "" : absl::StrCat("expected ", want, ", got ", got);
  }
  const double want = expected_values.GetDouble(i);
  const double got = actual_values.GetDouble(i);
  const bool is_exact = want == got && (want != 0 || std::signbit(want) == std::signbit(got));
  const bool same = (std::isnan(want) && std::isnan(got)) || is_exact ||
                    (want == got && ulps > 0) ||
                    (ulps > 0 && std::fabs(want - got) <= ulps * UnitInLastPlace(type, want));
  return same ? "" : absl::StrFormat("expected %.17g, got %.17g", want, got);
}

}  // namespace tartan
