// SPDX-License-Identifier: Apache-2.0
// Converts out-of-memory exceptions to a status, at the boundary of functions that users call.
#pragma once

#include <new>
#include <stdexcept>

#include "absl/status/status.h"

namespace tartan {

// A ResourceExhausted status, allocated once in advance.
inline const absl::Status& OutOfMemory() {
  static const auto* const status =
      new absl::Status(absl::ResourceExhaustedError("no memory left"));
  return *status;
}

// Returns the Status or StatusOr of `work`, or OutOfMemory if an allocation in it fails or exceeds
// the addressable size.
template <class Work>
auto CatchOutOfMemory(const Work& work) -> decltype(work()) {
  const absl::Status& out_of_memory = OutOfMemory();
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return out_of_memory;
  } catch (const std::length_error&) {
    return out_of_memory;
  }
}

}  // namespace tartan
