// SPDX-License-Identifier: Apache-2.0
// What a model takes and gives, as its file says. Internal to this folder.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/model.h"
#include "frontend/onnx/import/graph.h"

namespace tartan::onnx {

class GraphProto;
class ModelProto;

// The inputs a caller may give, each with its position among the inputs of the graph.
struct Inputs {
  std::vector<api::TensorSpec> specs;
  std::vector<size_t> positions;
};

// Before IR version 4 every initialiser had to be an input too; there such an input is a weight,
// later it is a default value.
absl::StatusOr<Inputs> ReadInputs(const ModelProto& model, const Graph& built);

// Floats among the initialisers that are no inputs become optional ones, of the graph too.
void AddParameters(const ModelProto& model, Graph* graph, Inputs* inputs);

// What a file says of its outputs is for people; nothing is decided by it, so it may be missing.
absl::StatusOr<std::vector<api::TensorSpec>> ReadOutputs(const GraphProto& graph);

}  // namespace tartan::onnx
