// SPDX-License-Identifier: Apache-2.0
// Converts a graph into the lazy tensors of its outputs. One Importer serves one Bind.
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

// A function defined in the model file.
struct LocalFunction {
  const FunctionProto* proto = nullptr;
  std::unique_ptr<const Graph> body;
  Opsets opsets;
};

// Domain, name, overload.
using FunctionKey = std::tuple<std::string, std::string, std::string>;

// The parts of a loaded model; immutable after loading.
struct ModelParts {
  std::unique_ptr<Graph> graph;
  Opsets opsets;
  std::map<FunctionKey, LocalFunction> functions;
  TensorSource source;
  int64_t channel_block = 0;  // as in channel_blocks.h
};

const LocalFunction* FindFunction(const ModelParts& model, const NodeProto& node);

// Checks that every operator has a row. One Unimplemented message lists all that have none, such as
// "foo1 (Foo, opset 11): supported from opset 13 on", each with its first node. The bodies of
// called functions are checked; graphs in attributes are not, since they may never be executed.
absl::Status CheckOperators(const ModelParts& model);

class Importer : private NodeServices {
 public:
  // Null pointers are allowed: without `resolver` the graph cannot break, without `training` the
  // model is not trained, without `decoding` there is no preallocated cache.
  Importer(const ModelParts& model, api::Resolver* resolver, const TrainingMode* training = nullptr,
           const DecodingMode* decoding = nullptr);

  // `inputs` by position. An empty value selects the graph's constant of that name. The outputs are
  // meaningless if needed_values() is not empty afterwards.
  OutputValues Import(absl::Span<const Value> inputs);

  // Inputs whose values the import needs.
  const std::vector<Tensor>& needed_values() const { return needed_; }
  // Both as in api::BoundGraph.
  const std::vector<std::pair<Tensor, Tensor>>& updates() const { return updates_; }
  const Tensor& random_seed() const { return random_seed_; }

 private:
  struct Frame;

  // The inputs and outputs of a graph are slots, so that a value that waits in one graph waits in
  // the other too.
  absl::StatusOr<std::vector<Slot>> ImportGraph(const Graph& graph, absl::Span<const Slot> inputs,
                                                Scope& scope, const Frame& frame);
  absl::Status ImportNode(const NodeProto& node, const Frame& frame, Scope& scope);
  // InvalidArgument unless a node's result has the dimensions that the file declares.
  absl::Status CheckDeclared(const NodeProto& node, const std::string& name, const Slot& slot,
                             const Scope& scope) const;
  // Applies dropout to a value that TrainingMode::dropout_of names.
  absl::Status DropElements(const std::string& name, Slot* slot);
  // The slots of a node's outputs.
  absl::StatusOr<std::vector<Slot>> ImportCall(const NodeProto& node, absl::Span<const Slot> inputs,
                                               const Frame& frame);
  OutputValues ImportOperator(const NodeProto& node, std::vector<Value> inputs, const Frame& frame);
  absl::StatusOr<std::vector<Slot>> CallFunction(const LocalFunction& function,
                                                 const NodeProto& node,
                                                 absl::Span<const Slot> inputs, const Frame& frame);
  // InvalidArgument when a nested graph defines a name that a graph around it defines. The standard
  // forbids this, and engines differ in which value they take. Names of inputs may repeat, and so
  // may equal constants.
  static absl::Status CheckNewNames(const Graph& graph, const Scope& outer);
  OutputValues ImportNested(const GraphProto& graph, absl::Span<const Value> inputs,
                            LoopBody* captures);
  Tensor Fold(Tensor tensor, absl::Span<const Value> inputs);
  // Counts nodes that are imported as part of a call or an iteration, or a second time. Functions
  // that call functions grow exponentially, as do nested loops and higher derivatives.
  absl::Status CountRepeated(int64_t nodes);

  // --- importer_breaks.cc
  absl::StatusOr<HostTensor> HostValue(const Tensor& tensor) override;
  Outputs Run(const std::string& name, std::vector<Tensor> operands,
              std::shared_ptr<const api::Call> call) override;
  bool CanBreakGraph() const override { return resolver_ != nullptr; }
  OutputValues ImportSubgraph(const GraphProto& graph, absl::Span<const Value> inputs) override;
  absl::StatusOr<std::optional<LoopBody>> ImportLoopBody(const GraphProto& graph,
                                                         absl::Span<const Value> inputs) override;
  absl::StatusOr<uint32_t> NextStream() override;
  const TrainingMode* training() const override { return training_; }
  const DecodingMode* decoding() const override { return decoding_; }
  const Tensor& RandomSeed() override;
  void Update(const Tensor& tensor, Tensor next) override;
  absl::StatusOr<Value> Reimport(const std::string& name,
                                 const std::map<std::string, Value>& given) override;
  Value OperandOfMaker(const std::string& name, int i) override;
  std::optional<std::vector<int64_t>> DeclaredDims(const std::string& name) override;
  void Hold(std::vector<Value>* values) override { held_.push_back(values); }
  void Release() override { held_.pop_back(); }
  const TensorSource& tensor_source() const override { return model_.source; }
  int64_t channel_block() const override { return model_.channel_block; }
  std::string Place() const override;
  int64_t NextCheck() override { return checks_++; }

  absl::Status Wait(absl::Span<const Tensor> placeholders);
  // The values of slots for a handler, which does not know slots. If a slot waits, the handler's
  // node waits too.
  OutputValues Known(absl::Span<const Slot> slots);
  // Computes a tensor on the host with at most `max_points` index points. ResourceExhausted also
  // when all evaluations together exceed their limit.
  absl::StatusOr<HostTensor> Evaluate(const Tensor& tensor, int64_t max_points,
                                      bool* is_exact = nullptr);
  // True if the resolver may compute a value that is too much work for the host.
  bool CanBeLeftToDevice(const absl::Status& status) const {
    return resolver_ != nullptr && absl::IsResourceExhausted(status);
  }
  Outputs RunOnHost(absl::Span<const Tensor> operands, const api::Call& call);
  Outputs Break(const std::string& name, std::vector<Tensor> operands,
                std::shared_ptr<const api::Call> call);
  std::vector<Tensor> TensorsToKeep() const;
  void ReplaceKept(absl::Span<const Tensor> tensors, absl::Span<const Tensor> by);

  // True if the environment has TARTAN_CHECK_SHAPES=1, as in all tests. It is off elsewhere because
  // files can declare wrong shapes.
  static bool ChecksShapes();

  const ModelParts& model_;
  const bool checks_shapes_ = ChecksShapes();
  api::Resolver* const resolver_;
  const TrainingMode* const training_;
  const DecodingMode* const decoding_;
  std::vector<Tensor> inputs_;  // placeholders among the inputs of Import
  std::vector<Tensor> needed_;
  int unresolved_ = 0;  // needed values that are not known
  int64_t repeated_nodes_left_;
  int64_t host_points_left_;
  int64_t host_iterations_left_;
  uint32_t streams_ = 0;
  Tensor random_seed_;
  std::vector<std::pair<Tensor, Tensor>> updates_;
  std::unordered_set<const LocalFunction*> called_;  // functions whose bodies are being imported
  int64_t checks_ = 0;
  std::vector<std::vector<Value>*> held_;
  int body_depth_ = 0;         // nested loop bodies being imported
  bool body_is_open_ = false;  // the innermost body needs a value that is not known
  // The nodes being imported, each nested in the one before it, and the operator sets of their
  // domains.
  std::vector<std::pair<const NodeProto*, int64_t>> path_;
  // The scope and the frame of the innermost node, for its subgraphs.
  Scope* current_scope_ = nullptr;
  const Frame* current_frame_ = nullptr;
};

}  // namespace tartan::onnx
