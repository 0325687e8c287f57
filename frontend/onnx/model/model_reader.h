// SPDX-License-Identifier: Apache-2.0
// Reads an ONNX model file into a message, with the checks that need no knowledge of the graph.
// External data is read later, tensor by tensor (external_data.h).
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tartan::onnx {

class ModelProto;

// The newest format and operator set of the default domain that this importer supports.
inline constexpr int kNewestIrVersion = 14;
inline constexpr int kNewestOpset = 28;

struct ModelFile {
  std::shared_ptr<const ModelProto> proto;
  std::string name;    // the file's path, or the name given to a model in memory
  std::string folder;  // for external data; empty for a model in memory
};

// Errors:
// - InvalidArgument naming the file if it is not an ONNX model, truncated or damaged.
// - Unimplemented if its IR version or operator set is newer than the supported ones.
// - ResourceExhausted beyond the 2 GiB limit of a protobuf message.
absl::StatusOr<ModelFile> ReadModelFile(const std::string& path);

// `name` replaces the path in messages. The bytes are not needed afterwards.
absl::StatusOr<ModelFile> ReadModelBytes(absl::Span<const uint8_t> bytes, absl::string_view name);

}  // namespace tartan::onnx
