// SPDX-License-Identifier: Apache-2.0
// Models made in tests.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/api/model.h"
#include "frontend/api/session.h"

namespace tartan::api {

// A tensor of float32; -1 for sizes that the model leaves open.
inline TensorSpec FloatSpec(const std::string& name, std::vector<int64_t> dims) {
  TensorSpec spec;
  spec.name = name;
  spec.type = DataType::kFloat32;
  spec.has_rank = true;
  spec.dim_names.resize(dims.size());
  spec.dims = std::move(dims);
  return spec;
}

// From one float32 tensor "x" to another, "y", in the way that a function says.
class TestModel : public Model {
 public:
  // From the placeholder of "x".
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

// Nothing is compiled in the background, and all at once.
inline SessionOptions ExactAtOnce() {
  SessionOptions options;
  options.tier = Tier::kExact;
  return options;
}

// A vector of `size` elements that are `value`.
inline HostTensor Constant(int64_t size, float value) {
  return HostTensor::FromVector(TensorShape{DataType::kFloat32, {size}},
                                std::vector<float>(static_cast<size_t>(size), value));
}

}  // namespace tartan::api
