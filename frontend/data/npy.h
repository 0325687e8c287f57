// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: one array each, format versions 1 to 3.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tile/base/host_tensor.h"

namespace tartan::data {

// Either byte order and either element order; bool, integers and floats of 16 to 64 bits.
// InvalidArgument for a damaged file, Unimplemented for other element types. Nothing is allocated
// for sizes that the bytes present do not bear out. Errors do not name the file. With an `owner`,
// which keeps `bytes`, the tensor shares them where the file has the elements as a tensor does.
absl::StatusOr<HostTensor> ParseNpy(absl::Span<const uint8_t> bytes,
                                    std::shared_ptr<const void> owner = nullptr);

// The bytes of a version 1.0 file. Unimplemented for bfloat16, which NumPy does not have.
absl::StatusOr<std::string> FormatNpy(const HostTensor& tensor);

}  // namespace tartan::data
