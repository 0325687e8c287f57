// SPDX-License-Identifier: Apache-2.0
// Writes a copy of a model with other values for its initialisers.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "tile/base/host_tensor.h"

namespace tartan::onnx {

struct ModelFile;

// Writes the model of the file `from` to the file `to`, with `values` for the initialisers of those
// names, which keep their types and sizes. Everything else stays unchanged. External tensors are
// collected in one file "<name of `to`>.data" in the folder of `to`. Files are written atomically,
// the model last. InvalidArgument for a name that is not an initialiser and for a value of another
// type or size. Fails otherwise as ReadModelFile, ExternalData and WriteFile do.
absl::Status WriteModel(const std::string& from, const std::string& to,
                        const std::map<std::string, HostTensor>& values);

// Writes `model`, changed in memory, in the same way. If it has external tensors, its large tensors
// become external too. `model.folder` is the folder of its external data.
absl::Status WriteModel(const ModelFile& model, const std::string& to);

}  // namespace tartan::onnx
