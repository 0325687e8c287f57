// SPDX-License-Identifier: Apache-2.0
// Opens NumPy files as columns: .npy, and .npz with any number of arrays.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "frontend/data/dataset.h"

namespace tartan::data {

struct ArrayFile {
  std::vector<NamedTensor> arrays;
  std::function<absl::Status()> verify;  // compares checksums that opening skipped; never null
};

// The file stays mapped while a tensor or `verify` exists; only deflated, big-endian or
// column-major arrays are copied (scratch.h). Errors name the file and, in an archive, the member.
//
// OpenNpy returns the array of an .npy file, named "x".
absl::StatusOr<ArrayFile> OpenNpy(const std::string& path);
// Returns the arrays of an .npz file, named without ".npy"; only `array` unless it is empty.
// NotFound lists the arrays.
absl::StatusOr<ArrayFile> OpenNpz(const std::string& path, absl::string_view array = "");

}  // namespace tartan::data
