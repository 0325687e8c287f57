// SPDX-License-Identifier: Apache-2.0
// Walks a graph and makes the lazy tensors of its outputs. One Importer serves one Bind.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/resolver.h"
#include "frontend/api/value.h"
#include "frontend/onnx/import/decoding_mode.h"
#include "frontend/onnx/import/graph.h"
#include "frontend/onnx/import/node_context.h"
#include "frontend/onnx/import/scope.h"
#include "frontend/onnx/import/training_mode.h"

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
  std::unique_ptr<Graph> graph;
  Opsets opsets;
  std::map<FunctionKey, LocalFunction> functions;
  TensorSource source;
  int64_t channel_block = 0;  // channel_blocks.h
};

const LocalFunction* FindFunction(const ModelParts& model, const NodeProto& node);

// "Foo, opset 11: we have it from 13 on" for each operator the nodes use and we lack, all in one
// Unimplemented message that begins with the first node. Bodies of functions the nodes call count;
// graphs in attributes do not, since they may never be taken.
absl::Status CheckOperators(const ModelParts& model);

class Importer : private NodeServices {
 public:
  // The pointers may be null: there is no resolver, the model is not to be trained, it has no cache
  // with room.
  Importer(const ModelParts& model, api::Resolver* resolver, const TrainingMode* training = nullptr,
           const DecodingMode* decoding = nullptr);

  // `inputs` by position; nothing for one that takes the graph's constant of that name. When
  // needed_values() is not empty afterwards the outputs mean nothing.
  absl::StatusOr<std::vector<api::Value>> Import(absl::Span<const api::Value> inputs);

  // Inputs whose values decided something.
  const std::vector<api::Tensor>& needed_values() const { return needed_; }
  // As in api::BoundGraph.
  const std::vector<std::pair<api::Tensor, api::Tensor>>& updates() const { return updates_; }
  const api::Tensor& random_seed() const { return random_seed_; }

 private:
  struct Frame;

  // What crosses the border of a graph is slots: a value that waits goes on waiting beyond it.
  absl::StatusOr<std::vector<Slot>> ImportGraph(const Graph& graph, absl::Span<const Slot> inputs,
                                                Scope& scope, const Frame& frame);
  absl::Status ImportNode(const NodeProto& node, const Frame& frame, Scope& scope);
  // InvalidArgument unless a node's result has the dimensions that the file declares.
  absl::Status CheckDeclared(const NodeProto& node, const std::string& name, const Slot& slot,
                             const Scope& scope) const;
  // Of a value that is to have dropout (TrainingMode::dropout_of).
  absl::Status DropElements(const std::string& name, Slot* slot);
  // The slots of a node's outputs.
  absl::StatusOr<std::vector<Slot>> ImportCall(const NodeProto& node, absl::Span<const Slot> inputs,
                                               const Frame& frame);
  absl::StatusOr<std::vector<api::Value>> ImportOperator(const NodeProto& node,
                                                         std::vector<api::Value> inputs,
                                                         const Frame& frame);
  absl::StatusOr<std::vector<Slot>> CallFunction(const LocalFunction& function,
                                                 const NodeProto& node,
                                                 absl::Span<const Slot> inputs, const Frame& frame);
  // InvalidArgument where a nested graph gives a name of the graphs around it to another value. The
  // standard forbids it, and engines differ in which value they take. Names of inputs may return.
  static absl::Status CheckNewNames(const Graph& graph, const Scope& outer);
  absl::StatusOr<std::vector<api::Value>> ImportNested(const GraphProto& graph,
                                                       absl::Span<const api::Value> inputs,
                                                       LoopBody* captures);
  api::Tensor Fold(api::Tensor tensor, absl::Span<const api::Value> inputs);
  // Nodes that are imported because others call them, or once more. Functions that call functions
  // grow exponentially, as do loops in loops and derivatives of derivatives.
  absl::Status CountRepeated(int64_t nodes);

  // --- importer_breaks.cc
  absl::StatusOr<HostTensor> HostValue(const api::Tensor& tensor) override;
  absl::StatusOr<std::vector<api::Tensor>> Run(const std::string& name,
                                               std::vector<api::Tensor> operands,
                                               std::shared_ptr<const api::Call> call) override;
  bool CanBreakGraph() const override { return resolver_ != nullptr; }
  absl::StatusOr<std::vector<api::Value>> ImportSubgraph(
      const GraphProto& graph, absl::Span<const api::Value> inputs) override;
  absl::StatusOr<std::optional<LoopBody>> ImportLoopBody(
      const GraphProto& graph, absl::Span<const api::Value> inputs) override;
  absl::StatusOr<uint32_t> NextStream() override;
  const TrainingMode* training() const override { return training_; }
  const DecodingMode* decoding() const override { return decoding_; }
  const api::Tensor& RandomSeed() override;
  void Update(const api::Tensor& tensor, api::Tensor next) override;
  absl::StatusOr<api::Value> Reimport(const std::string& name,
                                      const std::map<std::string, api::Value>& given) override;
  api::Value OperandOfMaker(const std::string& name, int i) override;
  std::optional<std::vector<int64_t>> DeclaredDims(const std::string& name) override;
  void Hold(std::vector<api::Value>* values) override { held_.push_back(values); }
  void Release() override { held_.pop_back(); }
  const TensorSource& tensor_source() const override { return model_.source; }
  int64_t channel_block() const override { return model_.channel_block; }
  std::string Place() const override;
  int64_t NextCheck() override { return checks_++; }

  absl::Status Wait(absl::Span<const api::Tensor> placeholders);
  // The values of slots for a handler, which knows nothing of waiting: where one waits, the
  // handler's node does.
  absl::StatusOr<std::vector<api::Value>> Known(absl::Span<const Slot> slots);
  // On the host, with at most so many index points; ResourceExhausted also where all evaluations
  // together have had their share.
  absl::StatusOr<HostTensor> Evaluate(const api::Tensor& tensor, int64_t max_points,
                                      bool* is_exact = nullptr);
  // Whether what was too much for the host may be left to whoever resolves graph breaks.
  bool CanBeLeftToDevice(const absl::Status& status) const {
    return resolver_ != nullptr && absl::IsResourceExhausted(status);
  }
  absl::StatusOr<std::vector<api::Tensor>> RunOnHost(absl::Span<const api::Tensor> operands,
                                                     const api::Call& call);
  absl::StatusOr<std::vector<api::Tensor>> Break(const std::string& name,
                                                 std::vector<api::Tensor> operands,
                                                 std::shared_ptr<const api::Call> call);
  std::vector<api::Tensor> TensorsToKeep() const;
  void ReplaceKept(absl::Span<const api::Tensor> tensors, absl::Span<const api::Tensor> by);

  // Whether the environment has TARTAN_CHECK_SHAPES=1, as for all tests. Files are not always
  // right.
  static bool ChecksShapes();

  const ModelParts& model_;
  const bool checks_shapes_ = ChecksShapes();
  api::Resolver* const resolver_;
  const TrainingMode* const training_;
  const DecodingMode* const decoding_;
  std::vector<api::Tensor> inputs_;  // placeholders among the inputs of Import
  std::vector<api::Tensor> needed_;
  int unresolved_ = 0;  // values that were needed and are not known
  int64_t repeated_nodes_left_;
  int64_t host_points_left_;
  int64_t host_iterations_left_;
  uint32_t streams_ = 0;
  api::Tensor random_seed_;
  std::vector<std::pair<api::Tensor, api::Tensor>> updates_;
  std::unordered_set<const LocalFunction*> called_;  // whose bodies are being imported
  int64_t checks_ = 0;
  std::vector<std::vector<api::Value>*> held_;
  int body_depth_ = 0;         // bodies of loops being imported, one in the other
  bool body_is_open_ = false;  // the innermost one needs a value that is not known
  // The nodes being imported, each within the one before it, and the operator sets of their
  // domains.
  std::vector<std::pair<const NodeProto*, int64_t>> path_;
  // The innermost one, for its subgraphs.
  Scope* current_scope_ = nullptr;
  const Frame* current_frame_ = nullptr;
};

}  // namespace tartan::onnx
