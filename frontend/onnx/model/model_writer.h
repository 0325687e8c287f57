// SPDX-License-Identifier: Apache-2.0
// Writes a model again with other values of its initialisers.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "tile/base/host_tensor.h"

namespace tartan::onnx {

struct ModelFile;

// The model of the file `from` as the file `to`, with `values` for the initialisers of those names,
// of their types and sizes. Nodes, names, inputs, outputs and metadata stay as they are. Tensors
// that lie in other files do so again, all in one file "<name of `to`>.data" beside it. Each
// file appears whole or not at all, the model last. InvalidArgument for a name that is no
// initialiser and a value of another type or other sizes; else as from ReadModelFile, ExternalData
// and WriteFile.
absl::Status WriteModel(const std::string& from, const std::string& to,
                        const std::map<std::string, HostTensor>& values);

// The model `model`, changed in memory, in the same way; where tensors lie in other files, so do
// large ones that are in it. `model.folder` is where those files are.
absl::Status WriteModel(const ModelFile& model, const std::string& to);

}  // namespace tartan::onnx
