// SPDX-License-Identifier: Apache-2.0
// What the functions that users call answer where the host's memory ends.
#pragma once

#include <new>
#include <stdexcept>

#include "absl/status/status.h"

namespace tartan {

// ResourceExhausted; made once, while there is memory.
inline const absl::Status& OutOfMemory() {
  static const auto* const status =
      new absl::Status(absl::ResourceExhaustedError("no memory left"));
  return *status;
}

// What `work` returns, a Status or StatusOr; OutOfMemory where an allocation fails in it, or asks
// for more than can be addressed.
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
