// SPDX-License-Identifier: Apache-2.0
// Reads and writes tensors and small files, by file name extension.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tile/base/host_tensor.h"
#include "tile/base/write_file.h"

namespace tartan::cli {

// ".npy" for "a/b.npy"; empty without an extension. Lower case.
std::string Extension(absl::string_view path);

absl::StatusOr<std::vector<std::string>> ReadLines(const std::string& path);

// A .npy file or a serialised TensorProto (.pb); errors name the path.
absl::StatusOr<HostTensor> ReadTensor(const std::string& path);
absl::Status WriteTensor(const std::string& path, absl::string_view name, const HostTensor& tensor);
bool IsTensorExtension(absl::string_view extension);

}  // namespace tartan::cli
