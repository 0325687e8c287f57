// SPDX-License-Identifier: Apache-2.0
// The interface of a model that a Session runs. Given input shapes, it describes its outputs as
// lazy tensors. The ONNX importer implements it.
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
  DataType type = DataType::kInvalid;  // kInvalid: any; the storage type if `element` is not plain
  bool has_rank = true;
  std::vector<int64_t> dims;           // -1: not fixed by the model
  std::vector<std::string> dim_names;  // symbol of each dimension, or empty
  bool is_optional = false;            // has a default value (an initialiser of the same name)
  Element element = Element::kPlain;
  int sequence_depth = 0;     // 1: a sequence of tensors
  bool may_be_empty = false;  // an optional, which may have no value
  // The key type of a map, whose values have the type above: kString, or kPlain for int64 keys.
  std::optional<Element> map_keys;

  bool is_tensor() const { return sequence_depth == 0 && !may_be_empty && !map_keys; }
  // "x: float32[N, 3, 224, 224]", "y: sequence of string[?]", "z: map of string to float32"
  std::string ToString() const;
};

struct InputBinding {
  TensorShape shape;  // the shape of a tensor
  // The input's value if the model requested it (BoundGraph::needed_values), it is fixed, or it is
  // not a tensor of plain elements.
  const HostValue* value = nullptr;
  // Replaces the input's own placeholder if defined; of type and dimensions `shape`.
  Tensor tensor = {};
  bool given = true;  // false: an optional input left out
};

struct BoundGraph {
  // Inputs whose values (not only shapes) decide shapes. If it is not empty, nothing else is set,
  // and Bind must be called again with these values.
  std::vector<int> needed_values;
  std::vector<Tensor> placeholders;  // one per input; undefined for those bound by value
  // Set for a model bound for training. `updates` are placeholders with the values of their next
  // run (running statistics). `random_seed` is a placeholder that needs a new value in each run,
  // for new random numbers (uint32[2]; undefined if there are none).
  std::vector<std::pair<Tensor, Tensor>> updates;
  Tensor random_seed;
  std::vector<Value> outputs;  // same order as outputs()
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const std::string& name() const = 0;
  virtual const std::vector<TensorSpec>& inputs() const = 0;
  virtual const std::vector<TensorSpec>& outputs() const = 0;
  // `bindings` are in the order of inputs(). Values that decide the graph are requested from
  // `resolver`, in an order that depends on bindings and results only. The outputs then depend also
  // on the placeholders of its results. Without a resolver, and for small inputs that contain
  // sizes, such inputs become needed_values. Thread-safe.
  virtual absl::StatusOr<BoundGraph> Bind(absl::Span<const InputBinding> bindings,
                                          Resolver* resolver) const = 0;
  absl::StatusOr<BoundGraph> Bind(absl::Span<const InputBinding> bindings) const {
    return Bind(bindings, nullptr);
  }
};

// InvalidArgument naming the input if `value` is not as `spec` declares.
absl::Status CheckAgainstSpec(const TensorSpec& spec, const HostValue& value);

}  // namespace tartan::api
