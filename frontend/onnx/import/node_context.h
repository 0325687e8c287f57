// SPDX-License-Identifier: Apache-2.0
// What an operator's handler sees of its node: attributes, operands and a way to apply Tile.
// Messages of errors need not name the node: the importer puts "conv1 (Conv, opset 13): " in front.
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
#include "frontend/api/checks/checked_tensor.h"
#include "frontend/api/resolver.h"
#include "frontend/api/value.h"
#include "frontend/onnx/model/tensor_proto.h"

namespace tartan::onnx {

class AttributeProto;
class GraphProto;
class NodeProto;
struct DecodingMode;
struct TrainingMode;

// The body of a loop in terms of placeholders, and what it reads of the graphs around it.
struct LoopBody {
  std::vector<api::Value> outputs;
  std::vector<api::Tensor> captured;      // tensors of outer graphs, none of them constant
  std::vector<api::Tensor> placeholders;  // what stands for each of them
};

// The importer's side of a context.
class NodeServices {
 public:
  virtual ~NodeServices() = default;
  // The value of a tensor, asked for where it depends on placeholders. Fails where there is nobody
  // to ask; then it is noted which inputs' values are needed, and Bind asks for them.
  virtual absl::StatusOr<HostTensor> HostValue(const api::Tensor& tensor) = 0;
  // What `call` makes of the operands: at once where they are known, else as for HostValue.
  virtual absl::StatusOr<std::vector<api::Tensor>> Run(const std::string& name,
                                                       std::vector<api::Tensor> operands,
                                                       std::shared_ptr<const api::Call> call) = 0;
  // Whether a call's operands may be unknown while the graph is imported.
  virtual bool CanBreakGraph() const = 0;
  // Imports a graph in an attribute of the node; names of the outer graphs are visible in it.
  virtual absl::StatusOr<std::vector<api::Value>> ImportSubgraph(
      const GraphProto& graph, absl::Span<const api::Value> inputs) = 0;
  // The same for a body that is to run many times: `inputs` are placeholders. Nothing where the
  // body must know the value of one of them.
  virtual absl::StatusOr<std::optional<LoopBody>> ImportLoopBody(
      const GraphProto& graph, absl::Span<const api::Value> inputs) = 0;
  // A number that no other call within one import gets. Fails in the body of a loop, which is then
  // imported anew for each iteration.
  virtual absl::StatusOr<uint32_t> NextStream() = 0;
  // Null where the model is not to be trained.
  virtual const TrainingMode* training() const = 0;
  // Null where the model has no cache with room (decoding_mode.h).
  virtual const DecodingMode* decoding() const = 0;
  // In training: what makes the random numbers of a run other ones (uint32[2]).
  virtual const api::Tensor& RandomSeed() = 0;
  // In training: the value that `tensor` is to have in the next run, if it is a placeholder.
  virtual void Update(const api::Tensor& tensor, api::Tensor next) = 0;
  // The tensor `name` of the graph the node is in, as it would be if those in `given` had other
  // values: the nodes between are imported again.
  virtual absl::StatusOr<api::Value> Reimport(const std::string& name,
                                              const std::map<std::string, api::Value>& given) = 0;
  // Operand `i` of the node that makes the tensor `name` of the graph the node is in; nothing where
  // no node of that graph does.
  virtual api::Value OperandOfMaker(const std::string& name, int i) = 0;
  // The sizes the file gives for the tensor `name`, -1 for one that it leaves open; nothing where
  // it gives none.
  virtual std::optional<std::vector<int64_t>> DeclaredDims(const std::string& name) = 0;
  // Values a handler needs after it has imported something: graph breaks may replace their tensors.
  virtual void Hold(std::vector<api::Value>* values) = 0;
  virtual void Release() = 0;  // what was held last
  virtual const TensorSource& tensor_source() const = 0;
  // For a check of the node: where it is, "loop (Loop, opset 16): g (Gather, opset 13)", and its
  // place among all checks.
  virtual std::string Place() const = 0;
  virtual int64_t NextCheck() = 0;
  // The size of the blocks of com.microsoft.nchwc (channel_blocks.h); 0 in other models.
  virtual int64_t channel_block() const = 0;
};

// Attributes of the function whose body is being imported, for attributes that refer to them.
using AttributeMap = std::map<std::string, const AttributeProto*>;

class NodeContext {
 public:
  NodeContext(const NodeProto& node, int64_t opset, std::vector<api::Value> inputs,
              const AttributeMap* function_attributes, NodeServices* services);

  const NodeProto& node() const { return node_; }
  absl::string_view op_type() const;
  int64_t opset() const { return opset_; }  // of the node's domain
  int output_count() const;                 // those the node lists, named or not
  bool WantsOutput(int i) const;

  // --- Operands. Those the operator's row requires are always there.
  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool HasInput(int i) const { return i < input_count() && !values_[i].is_nothing(); }
  const api::Tensor& input(int i) const { return inputs_[i]; }
  absl::Span<const api::Tensor> inputs() const { return inputs_; }
  // For handlers of values; Nothing for an operand that is left out.
  const api::Value& value(int i) const { return i < input_count() ? values_[i] : nothing_; }
  absl::Span<const api::Value> values() const { return values_; }

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
  absl::StatusOr<api::HostValue> ConstantValue(absl::string_view name) const;  // of any elements
  // An element type, as in Cast.
  absl::StatusOr<DataType> Type(absl::string_view name) const;
  absl::StatusOr<DataType> Type(absl::string_view name, DataType otherwise) const;
  // The attribute itself, for what is not listed here; null when it is not there.
  const AttributeProto* Find(absl::string_view name) const;

  absl::StatusOr<const GraphProto*> Graph(absl::string_view name) const;
  // Imports the graph in attribute `name` with `inputs` for its inputs.
  absl::StatusOr<std::vector<api::Value>> ImportSubgraph(absl::string_view name,
                                                         absl::Span<const api::Value> inputs);

  // What `call` makes of tensors, between two programs; its results have the sizes it gives them.
  absl::StatusOr<std::vector<api::Tensor>> Run(std::vector<api::Tensor> operands,
                                               std::shared_ptr<const api::Call> call);
  // The same for a function that needs no device.
  using HostFunction =
      std::function<absl::StatusOr<std::vector<HostTensor>>(absl::Span<const HostTensor> operands)>;
  absl::StatusOr<std::vector<api::Tensor>> RunOnHost(std::vector<api::Tensor> operands,
                                                     HostFunction function);
  NodeServices& services() { return *services_; }
  const DecodingMode* decoding() const { return services_->decoding(); }

  // --- Results.
  // Applies a Tile function under the node's name.
  absl::StatusOr<std::vector<api::Tensor>> Apply(absl::string_view text,
                                                 absl::Span<const api::Tensor> inputs) const;
  absl::StatusOr<std::vector<api::Tensor>> Apply(absl::string_view text) const;  // to all operands
  // For functions of one output.
  absl::StatusOr<api::Tensor> ApplyOne(absl::string_view text,
                                       absl::Span<const api::Tensor> inputs) const;

  // --- Numbers out of range.
  // `values`, integers each of which must be within `bounds` (one, or one for each along the last
  // dimension) or be `exempt`: InvalidArgument where they are known and are not, else a tensor that
  // makes runs fail where they are not (api/checks/checked_tensor.h). Use it instead of `values`.
  absl::StatusOr<api::Tensor> Checked(const api::Tensor& values, std::vector<api::Bounds> bounds,
                                      absl::string_view noun = "index",
                                      std::optional<int64_t> exempt = std::nullopt) const;
  // Puts the checked tensor in the place of operand i, which must be there.
  absl::Status CheckInput(int i, std::vector<api::Bounds> bounds, absl::string_view noun = "index",
                          std::optional<int64_t> exempt = std::nullopt);

  // The same node as if its operator set and operands were these: what another operator's handler
  // is to see.
  NodeContext With(int64_t opset, absl::Span<const api::Tensor> inputs) const;

  // --- For lift.h: gives an operand the node's old form wrote as an attribute.
  void SetInput(int i, api::Value value);
  const TensorSource& tensor_source() const { return services_->tensor_source(); }

 private:
  const NodeProto& node_;
  int64_t opset_;
  std::vector<api::Value> values_;
  std::vector<api::Tensor> inputs_;  // the tensors of values_; undefined for others
  const api::Value nothing_;
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
