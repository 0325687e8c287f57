// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/import/node_context.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "frontend/api/composer.h"
#include "frontend/api/function.h"
#include "frontend/onnx/import/graph.h"
#include "frontend/onnx/values/value_proto.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

using Attribute = AttributeProto;

std::string KindName(int type) {
  std::string name = Attribute::AttributeType_Name(static_cast<Attribute::AttributeType>(type));
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

// The kind of an attribute. Files may leave it out; then the field that is set decides.
int KindOf(const Attribute& a) {
  if (a.type() != Attribute::UNDEFINED) return a.type();
  if (a.has_f()) return Attribute::FLOAT;
  if (a.has_i()) return Attribute::INT;
  if (a.has_s()) return Attribute::STRING;
  if (a.has_t()) return Attribute::TENSOR;
  if (a.has_g()) return Attribute::GRAPH;
  if (a.floats_size() > 0) return Attribute::FLOATS;
  if (a.ints_size() > 0) return Attribute::INTS;
  if (a.strings_size() > 0) return Attribute::STRINGS;
  return Attribute::UNDEFINED;  // an empty list of any kind
}

absl::Status Missing(absl::string_view name) {
  return Invalid("attribute '", name, "' is missing");
}

absl::Status CheckKind(const Attribute& attribute, int expected) {
  const int kind = KindOf(attribute);
  const bool is_list = expected == Attribute::FLOATS || expected == Attribute::INTS ||
                       expected == Attribute::STRINGS;
  if (kind == expected || (kind == Attribute::UNDEFINED && is_list)) return absl::OkStatus();
  return Invalid("attribute '", attribute.name(), "': expected ", KindName(expected), ", got ",
                 KindName(kind));
}

// Reads the attribute `name` of a kind with `get`.
template <class Get>
auto ReadAttribute(const NodeContext& context, absl::string_view name, int kind, Get get)
    -> absl::StatusOr<decltype(get(std::declval<const Attribute&>()))> {
  const Attribute* attribute = context.Find(name);
  if (attribute == nullptr) return Missing(name);
  TARTAN_RETURN_IF_ERROR(CheckKind(*attribute, kind));
  return get(*attribute);
}

// A call of a host function.
class HostCall final : public api::Call {
 public:
  explicit HostCall(NodeContext::HostFunction function) : function_(std::move(function)) {}
  absl::StatusOr<std::vector<HostTensor>> Run(absl::Span<const HostTensor> operands,
                                              api::CallRunner& /*runner*/) const override {
    return function_(operands);
  }

 private:
  const NodeContext::HostFunction function_;
};

// Handlers of values may receive sequences and empty optionals.
absl::Status CheckTensor(const Value& value, int i) {
  if (value.is_nothing()) return Invalid("operand ", i, " is missing");
  return value.is_tensor() ? absl::OkStatus() : Invalid("operand ", i, " is not a tensor");
}

}  // namespace

NodeContext::NodeContext(const NodeProto& node, int64_t opset, std::vector<Value> inputs,
                         const AttributeMap* function_attributes, NodeServices* services)
    : node_(node),
      opset_(opset),
      values_(std::move(inputs)),
      function_attributes_(function_attributes),
      services_(services) {
  for (const Value& value : values_) inputs_.push_back(value.tensor());
}

NodeContext NodeContext::With(int64_t opset, absl::Span<const Tensor> inputs) const {
  std::vector<Value> values;
  for (const Tensor& input : inputs) {
    values.push_back(input.defined() ? Value(input) : Value());
  }
  return NodeContext(node_, opset, std::move(values), function_attributes_, services_);
}

absl::string_view NodeContext::op_type() const { return node_.op_type(); }

int NodeContext::output_count() const { return node_.output_size(); }

bool NodeContext::WantsOutput(int i) const {
  return i < node_.output_size() && !node_.output(i).empty();
}

const AttributeProto* NodeContext::Find(absl::string_view name) const {
  for (const AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.ref_attr_name().empty()) return &attribute;
    if (function_attributes_ == nullptr) return nullptr;
    const auto found = function_attributes_->find(attribute.ref_attr_name());
    return found == function_attributes_->end() ? nullptr : found->second;
  }
  return nullptr;
}

absl::StatusOr<HostTensor> NodeContext::HostValue(int i) {
  TARTAN_RETURN_IF_ERROR(CheckTensor(value(i), i));
  return services_->HostValue(inputs_[i]);
}

absl::StatusOr<std::vector<int64_t>> NodeContext::HostInts(int i) {
  TARTAN_RETURN_IF_ERROR(CheckTensor(value(i), i));
  if (!IsInteger(inputs_[i].type()) && inputs_[i].type() != DataType::kBool) {
    return Invalid("operand ", i, ": expected integers, got ", inputs_[i].shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(const HostTensor value, HostValue(i));
  return value.ToInts();
}

absl::StatusOr<int64_t> NodeContext::HostInt(int i) {
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> values, HostInts(i));
  if (values.size() != 1) {
    return Invalid("operand ", i, ": expected one number, got ", inputs_[i].shape().ToString());
  }
  return values[0];
}

absl::StatusOr<double> NodeContext::HostFloat(int i) {
  TARTAN_RETURN_IF_ERROR(CheckTensor(value(i), i));
  if (inputs_[i].shape().element_count() != 1) {
    return Invalid("operand ", i, ": expected one number, got ", inputs_[i].shape().ToString());
  }
  TARTAN_ASSIGN_OR_RETURN(const HostTensor value, HostValue(i));
  return value.GetDouble(0);
}

absl::StatusOr<int64_t> NodeContext::Int(absl::string_view name) const {
  return ReadAttribute(*this, name, Attribute::INT, [](const Attribute& a) { return a.i(); });
}

absl::StatusOr<int64_t> NodeContext::Int(absl::string_view name, int64_t otherwise) const {
  if (!HasAttribute(name)) return otherwise;
  return Int(name);
}

absl::StatusOr<float> NodeContext::Float(absl::string_view name) const {
  return ReadAttribute(*this, name, Attribute::FLOAT, [](const Attribute& a) { return a.f(); });
}

absl::StatusOr<float> NodeContext::Float(absl::string_view name, float otherwise) const {
  if (!HasAttribute(name)) return otherwise;
  return Float(name);
}

absl::StatusOr<std::string> NodeContext::String(absl::string_view name) const {
  return ReadAttribute(*this, name, Attribute::STRING,
                       [](const Attribute& a) { return std::string(a.s()); });
}

absl::StatusOr<std::string> NodeContext::String(absl::string_view name,
                                                absl::string_view otherwise) const {
  if (!HasAttribute(name)) return std::string(otherwise);
  return String(name);
}

absl::StatusOr<std::vector<int64_t>> NodeContext::Ints(absl::string_view name) const {
  return ReadAttribute(*this, name, Attribute::INTS, [](const Attribute& a) {
    return std::vector<int64_t>(a.ints().begin(), a.ints().end());
  });
}

absl::StatusOr<std::vector<int64_t>> NodeContext::Ints(absl::string_view name,
                                                       std::vector<int64_t> otherwise) const {
  if (!HasAttribute(name)) return otherwise;
  return Ints(name);
}

absl::StatusOr<std::vector<float>> NodeContext::Floats(absl::string_view name) const {
  return ReadAttribute(*this, name, Attribute::FLOATS, [](const Attribute& a) {
    return std::vector<float>(a.floats().begin(), a.floats().end());
  });
}

absl::StatusOr<std::vector<std::string>> NodeContext::Strings(absl::string_view name) const {
  return ReadAttribute(*this, name, Attribute::STRINGS, [](const Attribute& a) {
    return std::vector<std::string>(a.strings().begin(), a.strings().end());
  });
}

absl::StatusOr<HostTensor> NodeContext::TensorValue(absl::string_view name) const {
  TARTAN_ASSIGN_OR_RETURN(const api::HostValue value, ConstantValue(name));
  if (value.element() == api::Element::kPlain) return value.tensor();
  return Unsupported("attribute '", name, "': elements of type ", api::Name(value.element()));
}

absl::StatusOr<api::HostValue> NodeContext::ConstantValue(absl::string_view name) const {
  TARTAN_ASSIGN_OR_RETURN(
      const TensorProto* proto,
      ReadAttribute(*this, name, Attribute::TENSOR, [](const Attribute& a) { return &a.t(); }));
  absl::StatusOr<api::HostValue> value = ToHostValue(*proto, tensor_source());
  if (value.ok()) return value;
  return absl::Status(value.status().code(),
                      absl::StrCat("attribute '", name, "': ", value.status().message()));
}

absl::StatusOr<DataType> NodeContext::Type(absl::string_view name) const {
  TARTAN_ASSIGN_OR_RETURN(const int64_t number, Int(name));
  return DataTypeFromOnnx(static_cast<int32_t>(number));
}

absl::StatusOr<DataType> NodeContext::Type(absl::string_view name, DataType otherwise) const {
  if (!HasAttribute(name)) return otherwise;
  return Type(name);
}

absl::StatusOr<const GraphProto*> NodeContext::Graph(absl::string_view name) const {
  return ReadAttribute(*this, name, Attribute::GRAPH, [](const Attribute& a) { return &a.g(); });
}

OutputValues NodeContext::ImportSubgraph(absl::string_view name, absl::Span<const Value> inputs) {
  TARTAN_ASSIGN_OR_RETURN(const GraphProto* graph, Graph(name));
  return services_->ImportSubgraph(*graph, inputs);
}

Outputs NodeContext::Run(std::vector<Tensor> operands, std::shared_ptr<const api::Call> call) {
  return services_->Run(LabelOf(node_), std::move(operands), std::move(call));
}

Outputs NodeContext::RunOnHost(std::vector<Tensor> operands, HostFunction function) {
  return Run(std::move(operands), std::make_shared<HostCall>(std::move(function)));
}

Outputs NodeContext::Apply(absl::string_view text, absl::Span<const Tensor> inputs) const {
  TARTAN_ASSIGN_OR_RETURN(const api::Function function, api::Function::FromTile(text));
  return function.Apply(inputs, LabelOf(node_));
}

Outputs NodeContext::Apply(absl::string_view text) const { return Apply(text, inputs_); }

absl::StatusOr<Tensor> NodeContext::ApplyOne(absl::string_view text,
                                             absl::Span<const Tensor> inputs) const {
  TARTAN_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, Apply(text, inputs));
  if (outputs.size() != 1) return absl::InternalError("a Tile function of one output is expected");
  return outputs[0];
}

absl::StatusOr<Tensor> NodeContext::Checked(const Tensor& values, std::vector<api::Bounds> bounds,
                                            absl::string_view noun,
                                            std::optional<int64_t> exempt) const {
  if (!IsInteger(values.type())) return Invalid(noun, ": integers are expected");
  api::Check check{"", std::string(noun), std::move(bounds), exempt};
  // Evaluates small tensors that follow from constants. An error only means that the value is not
  // known yet.
  api::EvaluateOnHost(values).status().IgnoreError();
  // The importer adds the node to the message.
  const absl::Status known = api::CheckIfKnown(check, values);
  if (!known.ok()) return Invalid(known.message());
  check.node = services_->Place();
  check.order = services_->NextCheck();
  return api::Checked(values, std::move(check));
}

absl::Status NodeContext::CheckInput(int i, std::vector<api::Bounds> bounds, absl::string_view noun,
                                     std::optional<int64_t> exempt) {
  TARTAN_ASSIGN_OR_RETURN(Tensor checked, Checked(input(i), std::move(bounds), noun, exempt));
  SetInput(i, value(i).With(std::move(checked)));
  return absl::OkStatus();
}

void NodeContext::SetInput(int i, Value value) {
  const size_t position = static_cast<size_t>(i);
  if (i >= input_count()) {
    values_.resize(position + 1);
    inputs_.resize(position + 1);
  }
  inputs_[position] = value.tensor();
  values_[position] = std::move(value);
}

absl::StatusOr<std::string> NodeContext::OneOf(absl::string_view name, absl::string_view otherwise,
                                               std::vector<absl::string_view> choices) const {
  TARTAN_ASSIGN_OR_RETURN(const std::string given, String(name, otherwise));
  if (std::find(choices.begin(), choices.end(), given) != choices.end()) return given;
  const absl::string_view last = choices.back();
  choices.pop_back();
  return Invalid("attribute '", name, "': expected ", absl::StrJoin(choices, ", "), " or ", last,
                 ", got ", given);
}

absl::StatusOr<int64_t> NodeContext::Axis(absl::string_view name, int64_t rank) const {
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, Int(name));
  return NormalAxis(axis, rank);
}

absl::StatusOr<int64_t> NodeContext::Axis(absl::string_view name, int64_t otherwise,
                                          int64_t rank) const {
  TARTAN_ASSIGN_OR_RETURN(const int64_t axis, Int(name, otherwise));
  return NormalAxis(axis, rank);
}

absl::Status NodeContext::CheckDims(int i, absl::Span<const int64_t> dims) const {
  if (input(i).dims() == dims) return absl::OkStatus();
  return Invalid("operand ", i, " is ", input(i).shape().ToString(), ", expected ",
                 DimsToString(dims));
}

absl::Status NodeContext::CheckCount(int i, int64_t count) const {
  if (input(i).shape().element_count() == count) return absl::OkStatus();
  return Invalid("operand ", i, " is ", input(i).shape().ToString(), ", expected ", count,
                 " elements");
}

Outputs OneTensor(absl::StatusOr<Tensor> output) {
  if (!output.ok()) return output.status();
  return std::vector<Tensor>{*std::move(output)};
}

OutputValues OneValue(absl::StatusOr<Value> output) {
  if (!output.ok()) return output.status();
  return std::vector<Value>{*std::move(output)};
}

absl::StatusOr<int64_t> NormalAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return Invalid("axis ", axis, " does not exist in a tensor of rank ", rank);
  }
  return axis < 0 ? axis + rank : axis;
}

absl::StatusOr<std::vector<int64_t>> NormalAxes(absl::Span<const int64_t> axes, int64_t rank) {
  std::vector<int64_t> result;
  for (int64_t axis : axes) {
    TARTAN_ASSIGN_OR_RETURN(const int64_t normal, NormalAxis(axis, rank));
    result.push_back(normal);
  }
  std::sort(result.begin(), result.end());
  const auto twice = std::adjacent_find(result.begin(), result.end());
  if (twice != result.end()) return Invalid("axis ", *twice, " is given twice");
  return result;
}

Tensor ConstantInts(const std::vector<int64_t>& values) {
  const TensorShape shape{DataType::kInt64, {static_cast<int64_t>(values.size())}};
  return Tensor::Constant(HostTensor::FromVector(shape, values));
}

Tensor ConstantInt(int64_t value) {
  return Tensor::Constant(
      HostTensor::FromVector(TensorShape{DataType::kInt64, {}}, std::vector<int64_t>{value}));
}

Tensor ConstantScalar(DataType type, double value) {
  std::vector<uint8_t> bytes(static_cast<size_t>(ByteWidth(type)));
  StoreElement(type, value, 0, bytes.data());
  return Tensor::Constant(HostTensor(TensorShape{type, {}}, bytes));
}

}  // namespace tartan::onnx
