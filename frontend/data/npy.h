// SPDX-License-Identifier: Apache-2.0
// Reads and writes NumPy's .npy files: one array each, format versions 1 to 3.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/base/host_tensor.h"

namespace tartan::data {

// Parses an .npy file of either byte order and element order, with bool, integers, or floats of 16
// to 64 bits. Errors do not name the file. InvalidArgument for a damaged file, Unimplemented for
// other element types. Sizes are checked against the number of bytes before memory is allocated.
// With an `owner`, which keeps `bytes` alive, the tensor shares the bytes if their layout is a
// tensor's.
absl::StatusOr<HostTensor> ParseNpy(absl::Span<const uint8_t> bytes,
                                    std::shared_ptr<const void> owner = nullptr);

// Writes a version 1.0 file. Unimplemented for bfloat16, which NumPy does not have.
absl::StatusOr<std::string> FormatNpy(const HostTensor& tensor);

}  // namespace tartan::data
