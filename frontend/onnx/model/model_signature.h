// SPDX-License-Identifier: Apache-2.0
// The inputs and outputs of a model, as its file declares them. Internal to this folder.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/model.h"
#include "frontend/onnx/import/graph.h"

namespace tartan::onnx {

class GraphProto;
class ModelProto;

// The inputs that a caller may set, each with its position among the inputs of the graph.
struct Inputs {
  std::vector<api::TensorSpec> specs;
  std::vector<size_t> positions;
};

// Before IR version 4 every initialiser had to be an input too; such an input is a weight. In later
// versions the initialiser is the input's default value.
absl::StatusOr<Inputs> ReadInputs(const ModelProto& model, const Graph& built);

// Turns float initialisers that are not inputs into optional inputs, of the graph too.
void AddParameters(const ModelProto& model, Graph* graph, Inputs* inputs);

// The declared outputs are informative and decide nothing, so the declaration may be missing.
absl::StatusOr<std::vector<api::TensorSpec>> ReadOutputs(const GraphProto& graph);

}  // namespace tartan::onnx
