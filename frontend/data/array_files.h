// SPDX-License-Identifier: Apache-2.0
// NumPy's files as columns: .npy, and .npz with any number of arrays.
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
  std::function<absl::Status()> verify;  // compares checksums that were not looked at; never null
};

// The file stays mapped as long as a tensor or `verify` is there; only what is deflated, big-endian
// or column-major is copied (scratch.h). Errors name the file and, in an archive, the member.
// The array of an .npy file, named "x".
absl::StatusOr<ArrayFile> OpenNpy(const std::string& path);
// The arrays of an .npz file without the ".npy" of their names; only `array` unless it is empty:
// NotFound names those that there are.
absl::StatusOr<ArrayFile> OpenNpz(const std::string& path, absl::string_view array = "");

}  // namespace tartan::data
