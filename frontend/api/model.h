// SPDX-License-Identifier: Apache-2.0
// What a Session runs: something that, given the shapes of its inputs, says in lazy tensors how its
// outputs come about. The ONNX importer implements it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/resolver.h"
#include "frontend/api/tensor.h"
#include "frontend/api/value.h"

namespace tartan::api {

// A declared input or output: a tensor, a map, or a sequence of either.
struct TensorSpec {
  std::string name;
  DataType type = DataType::kInvalid;  // kInvalid: any; of the storage where `element` is not plain
  bool has_rank = true;
  std::vector<int64_t> dims;           // -1: not fixed by the model
  std::vector<std::string> dim_names;  // symbol of each dimension, or empty
  bool is_optional = false;            // has a default value (an initialiser of the same name)
  Element element = Element::kPlain;
  int sequence_depth = 0;     // 1: a sequence of tensors
  bool may_be_empty = false;  // an optional, which may hold nothing
  // Of a map, whose values' type is above: kString, or kPlain for keys of int64.
  std::optional<Element> map_keys;

  bool is_tensor() const { return sequence_depth == 0 && !may_be_empty && !map_keys; }
  // "x: float32[N, 3, 224, 224]", "y: sequence of string[?]", "z: map of string to float32"
  std::string ToString() const;
};

struct InputBinding {
  TensorShape shape;  // of a tensor
  // Set where the model asked for the value (BoundGraph::needed_values), it is known to be fixed or
  // it is no tensor of plain elements.
  const HostValue* value = nullptr;
  // Where defined, of `shape`: what the input is instead of a placeholder of its own.
  Tensor tensor = {};
  bool given = true;  // false: an optional input left out
};

struct BoundGraph {
  // Inputs whose values (not only shapes) decide shapes; when not empty, nothing else is set and
  // Bind is to be called again with them.
  std::vector<int> needed_values;
  std::vector<Tensor> placeholders;  // one per input; undefined for those bound by value
  // Of a model that is bound to be trained: placeholders with the values that they are to have in
  // the next run (running statistics), and what each run is to be given another value for, so that
  // it has other random numbers (uint32[2]; undefined where there are none).
  std::vector<std::pair<Tensor, Tensor>> updates;
  Tensor random_seed;
  std::vector<Value> outputs;  // in the order of outputs()
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const std::string& name() const = 0;
  virtual const std::vector<TensorSpec>& inputs() const = 0;
  virtual const std::vector<TensorSpec>& outputs() const = 0;
  // `bindings` in the order of inputs(). Values that decide the graph are asked of `resolver`, in
  // an order that depends on bindings and results alone; outputs then depend on the placeholders of
  // its results too. Without a resolver, and for small inputs that hold sizes, they are
  // needed_values. Thread-safe.
  virtual absl::StatusOr<BoundGraph> Bind(absl::Span<const InputBinding> bindings,
                                          Resolver* resolver) const = 0;
  absl::StatusOr<BoundGraph> Bind(absl::Span<const InputBinding> bindings) const {
    return Bind(bindings, nullptr);
  }
};

// InvalidArgument, naming the input, where `value` is not what `spec` declares.
absl::Status CheckAgainstSpec(const TensorSpec& spec, const HostValue& value);

}  // namespace tartan::api
