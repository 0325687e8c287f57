// What a Session runs: something that, given the shapes of its inputs, says in lazy tensors how its
// outputs come about. The ONNX importer implements it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/api/tensor.h"

namespace tartan::api {

// A declared input or output.
struct TensorSpec {
  std::string name;
  DataType type = DataType::kInvalid;  // kInvalid: any
  bool has_rank = true;
  std::vector<int64_t> dims;           // -1: not fixed by the model
  std::vector<std::string> dim_names;  // symbol of each dimension, or empty
  bool is_optional = false;            // has a default value (an initialiser of the same name)

  std::string ToString() const;  // "x: float32[N, 3, 224, 224]"
};

struct InputBinding {
  TensorShape shape;
  // Set where the model asked for the value (BoundGraph::needed_values) or it is known to be fixed.
  const HostTensor* value = nullptr;
  bool given = true;  // false: an optional input left out
};

struct BoundGraph {
  // Inputs whose values (not only shapes) decide shapes; when not empty, nothing else is set and
  // Bind is to be called again with them.
  std::vector<int> needed_values;
  std::vector<Tensor> placeholders;  // one per input; undefined for those bound by value
  std::vector<Tensor> outputs;       // in the order of outputs()
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const std::string& name() const = 0;
  virtual const std::vector<TensorSpec>& inputs() const = 0;
  virtual const std::vector<TensorSpec>& outputs() const = 0;
  // `bindings` in the order of inputs(). Thread-safe.
  virtual absl::StatusOr<BoundGraph> Bind(absl::Span<const InputBinding> bindings) const = 0;
};

}  // namespace tartan::api
