// SPDX-License-Identifier: Apache-2.0
// The node as an operator's handler sees it: attributes, operands and a way to apply Tile
// functions. Error messages need not name the node: the importer adds "conv1 (Conv, opset 13): " in
// front.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "frontend/api/checked_tensor.h"
#include "frontend/api/resolver.h"
#include "frontend/api/value.h"
#include "frontend/onnx/values/tensor_proto.h"

namespace tartan::onnx {

class AttributeProto;
class GraphProto;
class NodeProto;
struct DecodingMode;
struct TrainingMode;

using api::Tensor;
using api::Value;
using Sizes = std::vector<int64_t>;
using Outputs = absl::StatusOr<std::vector<Tensor>>;  // of a node, in order
using OutputValues = absl::StatusOr<std::vector<Value>>;

// The body of a loop in terms of placeholders, and the outer tensors that it reads.
struct LoopBody {
  std::vector<Value> outputs;
  std::vector<Tensor> captured;      // tensors of outer graphs, none of them constant
  std::vector<Tensor> placeholders;  // one per captured tensor
};

// The interface through which a NodeContext uses the importer.
class NodeServices {
 public:
  virtual ~NodeServices() = default;
  // The value of a tensor. If it depends on placeholders, it is resolved at a graph break. Small
  // inputs of integers, and all values without a resolver, are requested from the next Bind
  // instead: the call fails, and the import reports which inputs it needs.
  virtual absl::StatusOr<HostTensor> HostValue(const Tensor& tensor) = 0;
  // Applies `call` to the operands: at once if they are known, else at a graph break as in
  // HostValue.
  virtual Outputs Run(const std::string& name, std::vector<Tensor> operands,
                      std::shared_ptr<const api::Call> call) = 0;
  // True if a call's operands may be unknown while the graph is imported.
  virtual bool CanBreakGraph() const = 0;
  // Imports a graph in an attribute of the node; names of the outer graphs are visible in it.
  virtual OutputValues ImportSubgraph(const GraphProto& graph, absl::Span<const Value> inputs) = 0;
  // Imports a body that runs many times: `inputs` are placeholders. Returns nothing if the body
  // needs the value of one of them.
  virtual absl::StatusOr<std::optional<LoopBody>> ImportLoopBody(
      const GraphProto& graph, absl::Span<const Value> inputs) = 0;
  // A stream number, unique within one import, for random numbers. Fails in the body of a loop,
  // which is then imported once per iteration.
  virtual absl::StatusOr<uint32_t> NextStream() = 0;
  // Null unless the model is trained.
  virtual const TrainingMode* training() const = 0;
  // Null unless the model has a preallocated cache (decoding_mode.h).
  virtual const DecodingMode* decoding() const = 0;
  // Training only: the seed that differs from run to run (uint32[2]).
  virtual const Tensor& RandomSeed() = 0;
  // Training only: sets the value of `tensor` in the next run, if it is a placeholder.
  virtual void Update(const Tensor& tensor, Tensor next) = 0;
  // The tensor `name` of the node's graph, recomputed with other values for the tensors in `given`.
  // The nodes in between are imported again.
  virtual absl::StatusOr<Value> Reimport(const std::string& name,
                                         const std::map<std::string, Value>& given) = 0;
  // Operand `i` of the node that computes the tensor `name` in the same graph. Returns Nothing if
  // no node of that graph does.
  virtual Value OperandOfMaker(const std::string& name, int i) = 0;
  // The sizes that the file declares for the tensor `name`, -1 for an unspecified size. Returns
  // nothing if it declares none.
  virtual std::optional<std::vector<int64_t>> DeclaredDims(const std::string& name) = 0;
  // Registers values that a handler needs after a nested import: graph breaks may replace their
  // tensors.
  virtual void Hold(std::vector<Value>* values) = 0;
  virtual void Release() = 0;  // ends the last Hold
  virtual const TensorSource& tensor_source() const = 0;
  // For a check of the node: its path, "loop (Loop, opset 16): g (Gather, opset 13)", and its
  // number among all checks.
  virtual std::string Place() const = 0;
  virtual int64_t NextCheck() = 0;
  // The block size of com.microsoft.nchwc (channel_blocks.h); 0 in other models.
  virtual int64_t channel_block() const = 0;
};

// Attributes of the function whose body is being imported, for attributes that refer to them.
using AttributeMap = std::map<std::string, const AttributeProto*>;

class NodeContext {
 public:
  NodeContext(const NodeProto& node, int64_t opset, std::vector<Value> inputs,
              const AttributeMap* function_attributes, NodeServices* services);

  const NodeProto& node() const { return node_; }
  absl::string_view op_type() const;
  int64_t opset() const { return opset_; }  // of the node's domain
  int output_count() const;                 // the listed outputs, named or not
  bool WantsOutput(int i) const;

  // --- Operands. Required operands of the operator's row are always defined.
  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool HasInput(int i) const { return i < input_count() && !values_[i].is_nothing(); }
  const Tensor& input(int i) const { return inputs_[i]; }
  absl::Span<const Tensor> inputs() const { return inputs_; }
  // For handlers of values; Nothing for an operand that is left out.
  const Value& value(int i) const { return i < input_count() ? values_[i] : nothing_; }
  absl::Span<const Value> values() const { return values_; }

  // The value of an operand that decides shapes. If it is only known at run time, the call fails
  // and the next Bind gets the value: return the error unchanged.
  absl::StatusOr<HostTensor> HostValue(int i);
  absl::StatusOr<std::vector<int64_t>> HostInts(int i);  // any integer type, flattened
  absl::StatusOr<int64_t> HostInt(int i);                // exactly one element
  absl::StatusOr<double> HostFloat(int i);               // exactly one element, any numeric type

  // --- Attributes. Errors name the attribute, the expected kind and the given one.
  bool HasAttribute(absl::string_view name) const { return Find(name) != nullptr; }
  absl::StatusOr<int64_t> Int(absl::string_view name) const;
  absl::StatusOr<int64_t> Int(absl::string_view name, int64_t otherwise) const;
  absl::StatusOr<float> Float(absl::string_view name) const;
  absl::StatusOr<float> Float(absl::string_view name, float otherwise) const;
  absl::StatusOr<std::string> String(absl::string_view name) const;
  absl::StatusOr<std::string> String(absl::string_view name, absl::string_view otherwise) const;
  // One of `choices`, which are listed in the error for other strings.
  absl::StatusOr<std::string> OneOf(absl::string_view name, absl::string_view otherwise,
                                    std::vector<absl::string_view> choices) const;
  absl::StatusOr<std::vector<int64_t>> Ints(absl::string_view name) const;
  absl::StatusOr<std::vector<int64_t>> Ints(absl::string_view name,
                                            std::vector<int64_t> otherwise) const;
  absl::StatusOr<std::vector<float>> Floats(absl::string_view name) const;
  absl::StatusOr<std::vector<std::string>> Strings(absl::string_view name) const;
  absl::StatusOr<HostTensor> TensorValue(absl::string_view name) const;
  absl::StatusOr<api::HostValue> ConstantValue(absl::string_view name) const;  // any element type
  // An element type, as in Cast.
  absl::StatusOr<DataType> Type(absl::string_view name) const;
  absl::StatusOr<DataType> Type(absl::string_view name, DataType otherwise) const;
  // An axis as in NormalAxis.
  absl::StatusOr<int64_t> Axis(absl::string_view name, int64_t rank) const;
  absl::StatusOr<int64_t> Axis(absl::string_view name, int64_t otherwise, int64_t rank) const;
  // The attribute message, for kinds not listed here; null if absent.
  const AttributeProto* Find(absl::string_view name) const;

  absl::StatusOr<const GraphProto*> Graph(absl::string_view name) const;
  // Imports the graph in attribute `name` with `inputs` as its inputs.
  OutputValues ImportSubgraph(absl::string_view name, absl::Span<const Value> inputs);

  // Applies `call` between two programs. The results have the sizes that the call computes.
  Outputs Run(std::vector<Tensor> operands, std::shared_ptr<const api::Call> call);
  // The same for a function that needs no device.
  using HostFunction =
      std::function<absl::StatusOr<std::vector<HostTensor>>(absl::Span<const HostTensor> operands)>;
  Outputs RunOnHost(std::vector<Tensor> operands, HostFunction function);
  NodeServices& services() { return *services_; }
  const DecodingMode* decoding() const { return services_->decoding(); }

  // --- Results.
  // Applies a Tile function under the node's name.
  Outputs Apply(absl::string_view text, absl::Span<const Tensor> inputs) const;
  Outputs Apply(absl::string_view text) const;  // to all operands
  // For functions of one output.
  absl::StatusOr<Tensor> ApplyOne(absl::string_view text, absl::Span<const Tensor> inputs) const;

  // InvalidArgument unless operand i has these sizes, or this number of elements.
  absl::Status CheckDims(int i, absl::Span<const int64_t> dims) const;
  absl::Status CheckCount(int i, int64_t count) const;

  // --- Range checks.
  absl::StatusOr<Tensor> Checked(const Tensor& values, std::vector<api::Bounds> bounds,
                                 absl::string_view noun = "index",
                                 std::optional<int64_t> exempt = std::nullopt) const;
  // Replaces operand i, which must exist, by its checked tensor.
  absl::Status CheckInput(int i, std::vector<api::Bounds> bounds, absl::string_view noun = "index",
                          std::optional<int64_t> exempt = std::nullopt);

  // The same node with another operator set and other operands, for another operator's handler.
  NodeContext With(int64_t opset, absl::Span<const Tensor> inputs) const;

  // --- For lift.h: sets an operand that the node's older form gives as an attribute.
  void SetInput(int i, Value value);
  const TensorSource& tensor_source() const { return services_->tensor_source(); }

 private:
  const NodeProto& node_;
  int64_t opset_;
  std::vector<Value> values_;
  std::vector<Tensor> inputs_;  // the tensors of values_; undefined for others
  const Value nothing_;
  const AttributeMap* function_attributes_;
  NodeServices* services_;
};

// InvalidArgumentError(StrCat(parts…)): the model is wrong.
template <class... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// UnimplementedError(StrCat(parts…)): the model is valid, but Tartan does not support it.
template <class... Parts>
absl::Status Unsupported(const Parts&... parts) {
  return absl::UnimplementedError(absl::StrCat(parts...));
}

// The outputs of a node with one output.
Outputs OneTensor(absl::StatusOr<Tensor> output);
OutputValues OneValue(absl::StatusOr<Value> output);

// Maps an axis from [-rank, rank) to [0, rank); InvalidArgument otherwise.
absl::StatusOr<int64_t> NormalAxis(int64_t axis, int64_t rank);
// Maps each of `axes` and sorts them; InvalidArgument for a repeated axis.
absl::StatusOr<std::vector<int64_t>> NormalAxes(absl::Span<const int64_t> axes, int64_t rank);

// An int64 vector or scalar as a constant.
Tensor ConstantInts(const std::vector<int64_t>& values);
Tensor ConstantInt(int64_t value);
// A scalar of `type`.
Tensor ConstantScalar(DataType type, double value);

}  // namespace tartan::onnx
