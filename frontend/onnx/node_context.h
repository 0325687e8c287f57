// What an operator's handler sees of its node: attributes, operands and a way to apply Tile.
// Messages of errors need not name the node: the importer puts "conv1 (Conv, opset 13): " in front.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "frontend/api/tensor.h"
#include "frontend/onnx/tensor_proto.h"

namespace tartan::onnx {

class AttributeProto;
class GraphProto;
class NodeProto;

// The importer's side of a context.
class NodeServices {
 public:
  virtual ~NodeServices() = default;
  // The value of a tensor that depends on no placeholder. When it does depend on some, notes that
  // their values are needed and fails; Bind then asks for them.
  virtual absl::StatusOr<HostTensor> HostValue(const api::Tensor& tensor) = 0;
  // Imports a graph in an attribute of the node; names of the outer graphs are visible in it.
  virtual absl::StatusOr<std::vector<api::Tensor>> ImportSubgraph(
      const GraphProto& graph, absl::Span<const api::Tensor> inputs) = 0;
  virtual const TensorSource& tensor_source() const = 0;
};

// Attributes of the function whose body is being imported, for attributes that refer to them.
using AttributeMap = std::map<std::string, const AttributeProto*>;

class NodeContext {
 public:
  NodeContext(const NodeProto& node, int64_t opset, std::vector<api::Tensor> inputs,
              const AttributeMap* function_attributes, NodeServices* services);

  const NodeProto& node() const { return node_; }
  absl::string_view op_type() const;
  int64_t opset() const { return opset_; }  // of the node's domain
  int output_count() const;                 // those the node lists, named or not
  bool WantsOutput(int i) const;

  // --- Operands. Those the operator's row requires are always there.
  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool HasInput(int i) const { return i < input_count() && inputs_[i].defined(); }
  const api::Tensor& input(int i) const { return inputs_[i]; }
  absl::Span<const api::Tensor> inputs() const { return inputs_; }

  // The value of an operand that decides shapes. Fails where it is known at run time only, and
  // makes it known at the next Bind: return the error as it is.
  absl::StatusOr<HostTensor> HostValue(int i);
  absl::StatusOr<std::vector<int64_t>> HostInts(int i);  // of any integer type, flattened
  absl::StatusOr<int64_t> HostInt(int i);                // exactly one element
  absl::StatusOr<double> HostFloat(int i);               // exactly one element, any number type

  // --- Attributes. Errors name the attribute, what was expected and what is there.
  bool HasAttribute(absl::string_view name) const { return Find(name) != nullptr; }
  absl::StatusOr<int64_t> Int(absl::string_view name) const;
  absl::StatusOr<int64_t> Int(absl::string_view name, int64_t otherwise) const;
  absl::StatusOr<float> Float(absl::string_view name) const;
  absl::StatusOr<float> Float(absl::string_view name, float otherwise) const;
  absl::StatusOr<std::string> String(absl::string_view name) const;
  absl::StatusOr<std::string> String(absl::string_view name, absl::string_view otherwise) const;
  absl::StatusOr<std::vector<int64_t>> Ints(absl::string_view name) const;
  absl::StatusOr<std::vector<int64_t>> Ints(absl::string_view name,
                                            std::vector<int64_t> otherwise) const;
  absl::StatusOr<std::vector<float>> Floats(absl::string_view name) const;
  absl::StatusOr<std::vector<std::string>> Strings(absl::string_view name) const;
  absl::StatusOr<HostTensor> TensorValue(absl::string_view name) const;
  // An element type, as in Cast.
  absl::StatusOr<DataType> Type(absl::string_view name) const;
  absl::StatusOr<DataType> Type(absl::string_view name, DataType otherwise) const;
  // The attribute itself, for what is not listed here; null when it is not there.
  const AttributeProto* Find(absl::string_view name) const;

  // Imports the graph in attribute `name` with `inputs` for its inputs.
  absl::StatusOr<std::vector<api::Tensor>> ImportSubgraph(absl::string_view name,
                                                          absl::Span<const api::Tensor> inputs);

  // --- Results.
  // Applies a Tile function under the node's name.
  absl::StatusOr<std::vector<api::Tensor>> Apply(absl::string_view text,
                                                 absl::Span<const api::Tensor> inputs) const;
  absl::StatusOr<std::vector<api::Tensor>> Apply(absl::string_view text) const;  // to all operands
  // For functions of one output.
  absl::StatusOr<api::Tensor> ApplyOne(absl::string_view text,
                                       absl::Span<const api::Tensor> inputs) const;

  // --- For lift.h: gives an operand the node's old form wrote as an attribute.
  void SetInput(int i, api::Tensor tensor);
  const TensorSource& tensor_source() const { return services_->tensor_source(); }

 private:
  const NodeProto& node_;
  int64_t opset_;
  std::vector<api::Tensor> inputs_;
  const AttributeMap* function_attributes_;
  NodeServices* services_;
};

// InvalidArgumentError(StrCat(parts…)): the model is wrong.
template <class... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// UnimplementedError(StrCat(parts…)): the model is right, we do not do this.
template <class... Parts>
absl::Status Unsupported(const Parts&... parts) {
  return absl::UnimplementedError(absl::StrCat(parts...));
}

// An axis from -rank to rank-1 as one from 0; InvalidArgument otherwise.
absl::StatusOr<int64_t> NormalAxis(int64_t axis, int64_t rank);
// Each of `axes`, sorted; InvalidArgument for one named twice.
absl::StatusOr<std::vector<int64_t>> NormalAxes(absl::Span<const int64_t> axes, int64_t rank);

// An int64 vector or scalar as a constant.
api::Tensor ConstantInts(const std::vector<int64_t>& values);
api::Tensor ConstantInt(int64_t value);
// A scalar of `type`.
api::Tensor ConstantScalar(DataType type, double value);

}  // namespace tartan::onnx
