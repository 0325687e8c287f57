// SPDX-License-Identifier: Apache-2.0
// Small models, inputs and session options for the tests of frontend/api.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/model.h"
#include "frontend/api/session.h"

namespace tartan::api {

// A float32 tensor; -1 marks a dimension that the model leaves open.
inline TensorSpec FloatSpec(const std::string& name, std::vector<int64_t> dims) {
  TensorSpec spec;
  spec.name = name;
  spec.type = DataType::kFloat32;
  spec.has_rank = true;
  spec.dim_names.resize(dims.size());
  spec.dims = std::move(dims);
  return spec;
}

// A model with one float32 input "x" and one output "y". A function given by the test builds the
// graph between them.
class TestModel : public Model {
 public:
  // Builds "y" from the placeholder of "x".
  using Body = std::function<absl::StatusOr<Tensor>(const Tensor& x, Resolver* resolver)>;

  TestModel(std::vector<int64_t> dims, Body body)
      : inputs_({FloatSpec("x", dims)}), outputs_({FloatSpec("y", dims)}), body_(std::move(body)) {}

  const std::string& name() const override { return name_; }
  const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  const std::vector<TensorSpec>& outputs() const override { return outputs_; }
  absl::StatusOr<BoundGraph> Bind(absl::Span<const InputBinding> bindings,
                                  Resolver* resolver) const override {
    BoundGraph graph;
    graph.placeholders = {Tensor::Placeholder("x", bindings[0].shape)};
    absl::StatusOr<Tensor> y = body_(graph.placeholders[0], resolver);
    if (!y.ok()) return y.status();
    graph.outputs = {*std::move(y)};
    return graph;
  }

 private:
  const std::string name_ = "test";
  const std::vector<TensorSpec> inputs_;
  const std::vector<TensorSpec> outputs_;
  const Body body_;
};

// Options of a session that compiles exact (shape-specialised) kernels at once and nothing in the
// background.
inline SessionOptions ExactAtOnce() {
  SessionOptions options;
  options.tier = Tier::kExact;
  return options;
}

// A vector of `size` elements, each equal to `value`.
inline HostTensor Constant(int64_t size, float value) {
  return HostTensor::FromVector(TensorShape{DataType::kFloat32, {size}},
                                std::vector<float>(static_cast<size_t>(size), value));
}

}  // namespace tartan::api
