// SPDX-License-Identifier: Apache-2.0
// Converts absl::Status to Python exceptions.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tartan::python {

// Throws ValueError for InvalidArgument, IndexError for OutOfRange, NotImplementedError for
// Unimplemented, MemoryError for ResourceExhausted, FileNotFoundError for NotFound, PermissionError
// for PermissionDenied, and RuntimeError otherwise. Requires the GIL.
[[noreturn]] void Raise(const absl::Status& status);

inline void RaiseIfError(const absl::Status& status) {
  if (!status.ok()) Raise(status);
}

template <class T>
T ValueOrRaise(absl::StatusOr<T> result) {
  if (!result.ok()) Raise(result.status());
  return *std::move(result);
}

}  // namespace tartan::python
