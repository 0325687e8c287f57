// SPDX-License-Identifier: Apache-2.0
// Memory for unpacked or converted file data, which may be larger than main memory.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tartan::data {

class Scratch {
 public:
  // Small buffers are on the heap; others are in an unnamed file in $TMPDIR, or /tmp, whose disk
  // space is allocated at once. ResourceExhausted, naming folder and size, if there is no space.
  // Aborted if the process limit for unpacked data is exceeded (tile/base/process_limits.h).
  static absl::StatusOr<std::shared_ptr<Scratch>> Create(int64_t size);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Initially zeros; valid as long as this object.
  absl::Span<uint8_t> bytes() const { return {data_, size_}; }

 private:
  Scratch(uint8_t* data, size_t size, bool is_mapped)
      : data_(data), size_(size), is_mapped_(is_mapped) {}

  uint8_t* data_;
  size_t size_;
  bool is_mapped_;
};

}  // namespace tartan::data
