// SPDX-License-Identifier: Apache-2.0
// Tensor data that lies in files beside the model.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tile/base/mapped_file.h"

namespace tartan::onnx {

class TensorProto;

// Maps each file once. Files must lie inside the model's folder, symbolic links followed: a model
// from a stranger reads nothing else. Not thread-safe.
class ExternalData {
 public:
  struct Bytes {
    absl::Span<const uint8_t> bytes;
    std::shared_ptr<const void> owner;
  };

  // `folder` empty: there is none, every Read fails.
  explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}

  // The `size` bytes of a tensor whose data_location is EXTERNAL. Errors name tensor and file.
  absl::StatusOr<Bytes> Read(const TensorProto& tensor, int64_t size);

 private:
  absl::StatusOr<std::shared_ptr<const MappedFile>> File(const std::string& location);

  std::string folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace tartan::onnx
