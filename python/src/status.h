// SPDX-License-Identifier: Apache-2.0
// absl::Status as exceptions of Python.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tartan::python {

// ValueError for InvalidArgument, IndexError for OutOfRange, NotImplementedError for Unimplemented,
// MemoryError for ResourceExhausted, FileNotFoundError for NotFound, PermissionError; else
// RuntimeError. Needs the interpreter's lock.
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
