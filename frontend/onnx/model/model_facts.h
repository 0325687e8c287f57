// SPDX-License-Identifier: Apache-2.0
// Queries on the message of a model. Internal to frontend/onnx.
#pragma once

#include <string>
#include <unordered_map>

#include "frontend/api/model.h"
#include "frontend/onnx/model/model_metadata.h"
#include "proto/onnx.pb.h"

namespace tartan::onnx {

// True if an initialiser has that dimension.
bool HasDimension(const GraphProto& graph, int64_t size);

// A digest of the computation of a model. It covers nodes, functions, inputs, outputs and the first
// 64 KiB of each initialiser. `proto` is the message of `model`; `constants` holds its
// initialisers.
std::string DigestOf(const ModelProto& proto, const api::Model& model,
                     const std::unordered_map<std::string, api::Value>& constants);

// The metadata of the file.
ModelMetadata MetadataOf(const ModelProto& proto);

}  // namespace tartan::onnx
