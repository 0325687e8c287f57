// SPDX-License-Identifier: Apache-2.0
#include "tile/loop/local_memory.h"

#include <algorithm>

namespace tartan::loop {
namespace {

constexpr int64_t kAlignment = 64;  // minimum, in bytes

}  // namespace

int64_t LocalBytes(const DeclareArray& array) {
  const auto& [element, lanes] = array.type;
  // Kernel languages may store bools and 16-bit floats in 4 bytes, except where the MMA reads them.
  const bool is_exact = element == DataType::kInt8 || element == DataType::kUInt8 ||
                        element == DataType::kInt16 || element == DataType::kUInt16 ||
                        array.alignment > 0;
  const int64_t bytes = is_exact ? ByteWidth(element) : std::max<int64_t>(ByteWidth(element), 4);
  const int64_t all = array.size * bytes * (lanes == 3 ? 4 : lanes);
  const int64_t alignment = LocalAlignment(array);
  return (all + alignment - 1) / alignment * alignment;
}

int64_t LocalAlignment(const DeclareArray& array) { return std::max(kAlignment, array.alignment); }

}  // namespace tartan::loop
