// SPDX-License-Identifier: Apache-2.0
// Limits the growth of a text in a tokenizer: forty replacements of `a` by `aa` would make 2^40
// bytes from one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tartan::generate {

// Maximum size of the result for a text of `bytes` bytes. Real tokenizers write up to three bytes
// for a space.
inline uint64_t MaxNormalizedBytes(size_t bytes) {
  return (uint64_t{1} << 20) + 64 * static_cast<uint64_t>(bytes);
}

// OutOfRange, naming `step` and both sizes, if `made` bytes exceed the limit.
inline absl::Status CheckGrowth(const char* step, uint64_t made, size_t bytes) {
  if (made <= MaxNormalizedBytes(bytes)) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("the tokenizer's ", step, " makes ", made,
                                            " bytes from a text of ", bytes, " bytes: at most ",
                                            MaxNormalizedBytes(bytes), " are allowed"));
}

}  // namespace tartan::generate
