// SPDX-License-Identifier: Apache-2.0
// A bound on what a tokenizer makes of a text: forty replacements of `a` by `aa` would make 2^40
// bytes of one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tartan::generate {

// Of a text of `bytes` bytes. Real tokenizers write three bytes for a space at most.
inline uint64_t MostBytes(size_t bytes) {
  return (uint64_t{1} << 20) + 64 * static_cast<uint64_t>(bytes);
}

// OutOfRange where `made` bytes are more than that, naming `step` and both sizes.
inline absl::Status CheckGrowth(const char* step, uint64_t made, size_t bytes) {
  if (made <= MostBytes(bytes)) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("the tokenizer's ", step, " makes ", made,
                                            " bytes of a text of ", bytes, ": at most ",
                                            MostBytes(bytes), " are allowed"));
}

}  // namespace tartan::generate
