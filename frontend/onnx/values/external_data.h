// SPDX-License-Identifier: Apache-2.0
// Tensor data in files outside the model file.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/base/mapped_file.h"

namespace tartan::onnx {

class TensorProto;

// Maps each file into memory once. Files must be inside the model's folder after symbolic links are
// resolved, so that an untrusted model reads nothing else. Not thread-safe.
class ExternalData {
 public:
  struct Bytes {
    absl::Span<const uint8_t> bytes;
    std::shared_ptr<const void> owner;
  };

  // Every Read fails if `folder` is empty.
  explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}

  // The `size` bytes of a tensor whose data_location is EXTERNAL. Errors name tensor and file.
  absl::StatusOr<Bytes> Read(const TensorProto& tensor, int64_t size);

 private:
  absl::StatusOr<std::shared_ptr<const MappedFile>> File(const std::string& location);

  std::string folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace tartan::onnx
