// SPDX-License-Identifier: Apache-2.0
// Memory for data that is made from a file, larger than memory if need be: unpacked, turned about.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tartan::data {

class Scratch {
 public:
  // Small buffers lie on the heap, others in a file without a name in $TMPDIR, or /tmp, whose place
  // on the disk is taken at once. ResourceExhausted where there is none, naming folder and size.
  // Aborted where the process may not unpack as much (tile/base/process_limits.h).
  static absl::StatusOr<std::shared_ptr<Scratch>> Create(int64_t size);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Zeros at first; valid as long as this object.
  absl::Span<uint8_t> bytes() const { return {data_, size_}; }

 private:
  Scratch(uint8_t* data, size_t size, bool is_mapped)
      : data_(data), size_(size), is_mapped_(is_mapped) {}

  uint8_t* data_;
  size_t size_;
  bool is_mapped_;
};

}  // namespace tartan::data
