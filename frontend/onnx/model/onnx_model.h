// SPDX-License-Identifier: Apache-2.0
// An ONNX model, loaded: what a Session runs and `tartan inspect` shows.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/api/model.h"
#include "frontend/onnx/import/decoding_mode.h"
#include "frontend/onnx/import/training_mode.h"
#include "frontend/onnx/model/model_metadata.h"

namespace tartan::onnx {

struct ModelFile;

struct OperatorCount {
  std::string domain;  // "" is ai.onnx
  std::string name;
  int64_t opset = 0;       // the model's, of this domain
  int since_version = 0;   // of the row that imports it; 0 when there is none
  int64_t count = 0;       // nodes in the graph and in graphs inside it
  bool supported = false;  // by a row or a function of the model
};

// A node of the model's graph, as listings show it.
struct NodeSummary {
  std::string label;  // its name, or that of its first output
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

struct LoadOptions {
  // Every value that a node of the graph makes is an output too, after the model's own, in the
  // order of the nodes.
  bool all_values = false;
  // Floats among the graph's initialisers are inputs too, after the model's own: optional ones,
  // with the initialisers for values. Names are theirs.
  bool parameters_as_inputs = false;
};

class OnnxModel final : public api::Model {
 public:
  // Errors name the file and, where there is one, the tensor, node or input at fault. A model with
  // operators we lack loads; Bind reports them.
  static absl::StatusOr<std::shared_ptr<const OnnxModel>> Load(const std::string& path,
                                                               const LoadOptions& options = {});
  // `name` stands for the file in messages. Without external data.
  static absl::StatusOr<std::shared_ptr<const OnnxModel>> LoadBytes(
      absl::Span<const uint8_t> bytes, absl::string_view name, const LoadOptions& options = {});
  ~OnnxModel() override;

  const std::string& name() const override;
  const std::vector<api::TensorSpec>& inputs() const override;
  const std::vector<api::TensorSpec>& outputs() const override;
  // InvalidArgument for bindings that do not fit inputs(); Unimplemented lists every operator that
  // is missing.
  absl::StatusOr<api::BoundGraph> Bind(absl::Span<const api::InputBinding> bindings,
                                       api::Resolver* resolver) const override;
  using api::Model::Bind;
  // The same for a step of training: with the bound graph's updates and random_seed.
  absl::StatusOr<api::BoundGraph> BindToTrain(absl::Span<const api::InputBinding> bindings,
                                              const TrainingMode& mode) const;

  // The same for steps of a decoder whose cache has room.
  absl::StatusOr<api::BoundGraph> BindToDecode(absl::Span<const api::InputBinding> bindings,
                                               const DecodingMode& mode) const;

  int64_t ir_version() const;
  std::string producer() const;  // "pytorch 2.1"
  const ModelMetadata& metadata() const;
  const std::map<std::string, int64_t>& opsets() const;  // "ai.onnx" -> 17
  // The model's own, before the parameters that are inputs by LoadOptions.
  size_t own_input_count() const;
  // The value of an initialiser of the graph, or null.
  const HostTensor* Initializer(absl::string_view name) const;
  // Differs where another graph does: of its nodes, and of the begin of each initialiser.
  std::string Digest() const;
  bool HasSize(int64_t size) const;                     // some initialiser has that dimension
  int64_t parameter_count() const;                      // elements of initialisers
  const std::vector<OperatorCount>& operators() const;  // sorted by domain and name
  // What is odd about the model though it can be run, a sentence each, for people.
  const std::vector<std::string>& warnings() const;
  std::vector<NodeSummary> Nodes() const;          // operands first, without constants
  std::vector<std::string> ValuesInOrder() const;  // what nodes make, operands first
  // "conv1 (Conv)": the node of the graph that makes a value; empty where none does.
  std::string ProducerOf(absl::string_view value) const;

 private:
  absl::StatusOr<api::BoundGraph> BindDeeply(absl::Span<const api::InputBinding> bindings,
                                             api::Resolver* resolver, const TrainingMode* training,
                                             const DecodingMode* decoding) const;

  struct Impl;
  explicit OnnxModel(std::unique_ptr<Impl> impl);
  static absl::StatusOr<std::shared_ptr<const OnnxModel>> FromFile(ModelFile file,
                                                                   const LoadOptions& options);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tartan::onnx
