// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/local_memory.h"

#include <algorithm>

namespace tartan::loop {
namespace {

constexpr int64_t kAlignment = 64;

}  // namespace

int64_t LocalBytes(const DeclareArray& array) {
  const auto& [element, lanes] = array.type;
  // Booleans and 16-bit floats may be held in more.
  const bool is_exact = element == DataType::kInt8 || element == DataType::kUInt8 ||
                        element == DataType::kInt16 || element == DataType::kUInt16;
  const int64_t bytes = is_exact ? ByteWidth(element) : std::max<int64_t>(ByteWidth(element), 4);
  const int64_t all = array.size * bytes * (lanes == 3 ? 4 : lanes);
  return (all + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace tartan::loop
