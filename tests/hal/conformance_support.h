// SPDX-License-Identifier: Apache-2.0
// Helper functions of the conformance suite.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "hal/hal.h"

namespace tartan::hal {

inline absl::Span<const uint8_t> Bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float)};
}

inline absl::Span<uint8_t> MutableBytes(std::vector<float>& values) {
  return {reinterpret_cast<uint8_t*>(values.data()), values.size() * sizeof(float)};
}

template <class T>
absl::StatusCode CodeOf(const absl::StatusOr<T>& result) {
  return result.status().code();
}
inline absl::StatusCode CodeOf(const absl::Status& status) { return status.code(); }

#define EXPECT_OK(expr)                              \
  do {                                               \
    const absl::Status status_ = (expr);             \
    EXPECT_TRUE(status_.ok()) << status_.ToString(); \
  } while (false)
#define EXPECT_INVALID(expr) EXPECT_EQ(CodeOf(expr), absl::StatusCode::kInvalidArgument)

inline Launch AddOne(const BufferPtr& buffer) {
  Launch launch;
  launch.entry_point = 0;
  launch.arguments = {buffer};
  launch.global_size = {buffer->size() / 4, 1, 1};
  return launch;
}

inline Launch Scale(const BufferPtr& from, const BufferPtr& to) {
  Launch launch;
  launch.entry_point = 1;
  launch.arguments = {from, to};
  launch.global_size = {from->size() / 4, 1, 1};
  launch.local_size = {4, 1, 1};
  return launch;
}

}  // namespace tartan::hal
