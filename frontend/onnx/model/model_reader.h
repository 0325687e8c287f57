// SPDX-License-Identifier: Apache-2.0
// Reads an ONNX model file: bytes to message, with the checks that need no understanding of the
// graph. External data is read later, tensor by tensor (external_data.h).
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tartan::onnx {

class ModelProto;

// The newest format and operator set of the default domain that this importer was written for.
inline constexpr int kNewestIrVersion = 14;
inline constexpr int kNewestOpset = 28;

struct ModelFile {
  std::shared_ptr<const ModelProto> proto;
  std::string name;    // the file's path, or what a model in memory was called
  std::string folder;  // where external data may lie; empty for a model in memory
};

// InvalidArgument naming the file when it is no ONNX model, is cut off or damaged; Unimplemented
// when its IR version or operator set is newer than ours; ResourceExhausted beyond the 2 GiB that a
// protobuf message may have.
absl::StatusOr<ModelFile> ReadModelFile(const std::string& path);

// `name` stands for the file in messages. The bytes are not needed afterwards.
absl::StatusOr<ModelFile> ReadModelBytes(absl::Span<const uint8_t> bytes, absl::string_view name);

}  // namespace tartan::onnx
