// SPDX-License-Identifier: Apache-2.0
// What is asked of the file of a model. Internal to frontend/onnx.
#pragma once

#include <string>
#include <unordered_map>

#include "frontend/api/model.h"
#include "frontend/onnx/model/model_metadata.h"
#include "proto/onnx.pb.h"

namespace tartan::onnx {

// Whether some initialiser has that dimension.
bool HasDimension(const GraphProto& graph, int64_t size);

// A name for what a model computes: differs where nodes, inputs or outputs do, or the begin of an
// initialiser does. `proto` is that of `model`, `constants` have its initialisers.
std::string DigestOf(const ModelProto& proto, const api::Model& model,
                     const std::unordered_map<std::string, api::Value>& constants);

// The metadata of the file.
ModelMetadata MetadataOf(const ModelProto& proto);

}  // namespace tartan::onnx
