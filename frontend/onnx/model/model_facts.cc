// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/model/model_facts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tile/base/digest.h"

namespace tartan::onnx {

bool HasDimension(const GraphProto& graph, int64_t size) {
  const auto& tensors = graph.initializer();
  return std::any_of(tensors.begin(), tensors.end(), [&](const TensorProto& tensor) {
    return std::find(tensor.dims().begin(), tensor.dims().end(), size) != tensor.dims().end();
  });
}

std::string DigestOf(const ModelProto& proto, const api::Model& model,
                     const std::unordered_map<std::string, api::Value>& constants) {
  // Bytes of each weight that enter the digest.
  constexpr size_t kMostBytes = 1 << 16;
  std::string all;
  const GraphProto& graph = proto.graph();
  for (const NodeProto& node : graph.node()) all += node.SerializeAsString();
  for (const FunctionProto& function : proto.functions()) all += function.SerializeAsString();
  for (const api::TensorSpec& spec : model.inputs()) absl::StrAppend(&all, spec.ToString(), "\n");
  for (const api::TensorSpec& spec : model.outputs()) absl::StrAppend(&all, spec.ToString(), "\n");
  for (const TensorProto& tensor : graph.initializer()) {
    const auto found = constants.find(tensor.name());
    if (found == constants.end() || !found->second.is_tensor()) continue;
    const HostTensor* const value = found->second.tensor().constant();
    if (value == nullptr) continue;
    const absl::Span<const uint8_t> bytes = value->bytes().subspan(0, kMostBytes);
    absl::StrAppend(&all, tensor.name(), value->shape().ToString(),
                    Digest({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  return Digest(all);
}

ModelMetadata MetadataOf(const ModelProto& proto) {
  ModelMetadata metadata;
  metadata.producer_name = proto.producer_name();
  metadata.producer_version = proto.producer_version();
  metadata.domain = proto.domain();
  metadata.version = proto.model_version();
  metadata.description = proto.doc_string();
  metadata.graph_name = proto.graph().name();
  metadata.graph_description = proto.graph().doc_string();
  for (const StringStringEntryProto& entry : proto.metadata_props()) {
    metadata.properties[entry.key()] = entry.value();
  }
  return metadata;
}

}  // namespace tartan::onnx
