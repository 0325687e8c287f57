// Walks a graph and makes the lazy tensors of its outputs. One Importer serves one Bind.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"
#include "frontend/onnx/graph.h"
#include "frontend/onnx/node_context.h"

namespace tartan::onnx {

class FunctionProto;
class NodeProto;

using Opsets = std::map<std::string, int64_t, std::less<>>;  // by normal domain

// A function that came with the model.
struct LocalFunction {
  const FunctionProto* proto = nullptr;
  std::unique_ptr<const Graph> body;
  Opsets opsets;
};

// Domain, name, overload.
using FunctionKey = std::tuple<std::string, std::string, std::string>;

// What a loaded model consists of; immutable after loading.
struct ModelParts {
  std::unique_ptr<const Graph> graph;
  Opsets opsets;
  std::map<FunctionKey, LocalFunction> functions;
  TensorSource source;
};

const LocalFunction* FindFunction(const ModelParts& model, const NodeProto& node);

// "Foo, opset 11: we have it from 13 on" for each operator the nodes use and we lack, all in one
// Unimplemented message that begins with the first node. Bodies of functions the nodes call count;
// graphs in attributes do not, since they may never be taken.
absl::Status CheckOperators(const ModelParts& model);

class Importer : private NodeServices {
 public:
  explicit Importer(const ModelParts& model) : model_(model) {}

  // `inputs` by position; an undefined one takes the graph's constant of that name. When
  // needed_values() is not empty afterwards the outputs mean nothing.
  absl::StatusOr<std::vector<api::Tensor>> Import(absl::Span<const api::Tensor> inputs);

  // Placeholders whose values decided something.
  const std::vector<api::Tensor>& needed_values() const { return needed_; }

 private:
  struct Scope;
  struct Frame;

  absl::StatusOr<std::vector<api::Tensor>> ImportGraph(const Graph& graph,
                                                       absl::Span<const api::Tensor> inputs,
                                                       const Scope* outer, const Frame& frame);
  absl::Status ImportNode(const NodeProto& node, const Frame& frame, Scope& scope);
  absl::StatusOr<std::vector<api::Tensor>> ImportOperator(const NodeProto& node,
                                                          std::vector<api::Tensor> inputs,
                                                          const Frame& frame);
  absl::StatusOr<std::vector<api::Tensor>> CallFunction(const LocalFunction& function,
                                                        const NodeProto& node,
                                                        absl::Span<const api::Tensor> inputs,
                                                        const Frame& frame);
  api::Tensor Fold(api::Tensor tensor, absl::Span<const api::Tensor> inputs) const;

  absl::StatusOr<HostTensor> HostValue(const api::Tensor& tensor) override;
  absl::StatusOr<std::vector<api::Tensor>> ImportSubgraph(
      const GraphProto& graph, absl::Span<const api::Tensor> inputs) override;
  const TensorSource& tensor_source() const override { return model_.source; }

  const ModelParts& model_;
  std::vector<api::Tensor> needed_;
  int unanswered_ = 0;  // host values asked for and not known
  int64_t nodes_of_calls_ = 0;
  // The node being imported, for its subgraphs.
  const Graph* current_graph_ = nullptr;
  const Scope* current_scope_ = nullptr;
  const Frame* current_frame_ = nullptr;
};

}  // namespace tartan::onnx
