// SPDX-License-Identifier: Apache-2.0
// A loaded ONNX model: the input of a Session and of `tartan inspect`.
#pragma once

#include <functional>
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
  int64_t opset = 0;       // the model's operator set of this domain
  int since_version = 0;   // of the row that imports it; 0 if there is none
  int64_t count = 0;       // nodes in the graph and its nested graphs
  bool supported = false;  // by a row or a function of the model
};

// A node of the model's graph, as listings show it.
struct NodeSummary {
  std::string label;  // the node's name, or the name of its first output
  std::string op;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

struct LoadOptions {
  // Every value that a node of the graph computes becomes an output, after the model's own, in the
  // order of the nodes.
  bool all_values = false;
  // Float initialisers of the graph become optional inputs, after the model's own. They keep their
  // names, and their values are the defaults.
  bool parameters_as_inputs = false;
  // Returns the inputs to declare in place of the model's own, in their order. A caller may fix
  // open sizes. Its failure is the failure of the load, unchanged.
  using Specs = std::vector<api::TensorSpec>;
  std::function<absl::StatusOr<Specs>(const Specs& inputs)> fix_inputs = [](const Specs& inputs) {
    return inputs;
  };
};

class OnnxModel final : public api::Model {
 public:
  // Errors name the file and, if there is one, the faulty tensor, node or input. A model with
  // unsupported operators loads; Bind reports them.
  static absl::StatusOr<std::shared_ptr<const OnnxModel>> Load(const std::string& path,
                                                               const LoadOptions& options = {});
  // `name` replaces the path in messages. External data is not available.
  static absl::StatusOr<std::shared_ptr<const OnnxModel>> LoadBytes(
      absl::Span<const uint8_t> bytes, absl::string_view name, const LoadOptions& options = {});
  ~OnnxModel() override;

  const std::string& name() const override;
  const std::vector<api::TensorSpec>& inputs() const override;
  const std::vector<api::TensorSpec>& outputs() const override;
  // InvalidArgument for bindings that do not fit inputs(); Unimplemented lists every unsupported
  // operator.
  absl::StatusOr<api::BoundGraph> Bind(absl::Span<const api::InputBinding> bindings,
                                       api::Resolver* resolver) const override;
  using api::Model::Bind;
  // Binds a step of training: the bound graph has updates and random_seed.
  absl::StatusOr<api::BoundGraph> BindToTrain(absl::Span<const api::InputBinding> bindings,
                                              const TrainingMode& mode) const;

  // Binds a step of a decoder with a preallocated cache.
  absl::StatusOr<api::BoundGraph> BindToDecode(absl::Span<const api::InputBinding> bindings,
                                               const DecodingMode& mode) const;

  int64_t ir_version() const;
  std::string producer() const;  // "pytorch 2.1"
  const ModelMetadata& metadata() const;
  const std::map<std::string, int64_t>& opsets() const;  // "ai.onnx" -> 17
  // The number of the model's own inputs, without the parameters of LoadOptions.
  size_t own_input_count() const;
  // The value of an initialiser of the graph, or null.
  const HostTensor* Initializer(absl::string_view name) const;
  // A digest of the computation (model_facts.h).
  std::string Digest() const;
  bool HasSize(int64_t size) const;                     // true if an initialiser has that dimension
  int64_t parameter_count() const;                      // elements of initialisers
  const std::vector<OperatorCount>& operators() const;  // sorted by domain and name
  // Sentences for the user about oddities of a model that runs nevertheless.
  const std::vector<std::string>& warnings() const;
  std::vector<NodeSummary> Nodes() const;          // operands first, without constants
  std::vector<std::string> ValuesInOrder() const;  // results of nodes, operands first
  // "conv1 (Conv)": the node of the graph that computes a value; empty if none does.
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
