// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/model/onnx_model.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/onnx/import/channel_blocks.h"
#include "frontend/onnx/import/importer.h"
#include "frontend/onnx/import/node_checks.h"
#include "frontend/onnx/import/operator_table.h"
#include "frontend/onnx/model/model_facts.h"
#include "frontend/onnx/model/model_reader.h"
#include "frontend/onnx/model/model_signature.h"
#include "frontend/onnx/model/nesting.h"
#include "frontend/onnx/values/external_data.h"
#include "frontend/onnx/values/value_proto.h"
#include "proto/onnx.pb.h"
#include "tile/base/out_of_memory.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

constexpr char kMicrosoft[] = "com.microsoft";

absl::Status Prefixed(absl::string_view prefix, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(prefix, ": ", status.message()));
}

template <class T>
absl::StatusOr<T> Prefixed(absl::string_view prefix, absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return Prefixed(prefix, value.status());
}

template <class Imports>
Opsets ReadOpsets(const Imports& imports) {
  Opsets opsets;
  for (const OperatorSetIdProto& opset : imports) {
    opsets[std::string(NormalDomain(opset.domain()))] = opset.version();
  }
  return opsets;
}

// True if the node's domain is imported or the node calls a function of the model. Nodes of
// com.microsoft need no import, because onnxruntime accepts models without it and tools write them.
bool IsImported(const ModelParts& model, const Opsets& opsets, const NodeProto& node) {
  const absl::string_view domain = NormalDomain(node.domain());
  return opsets.count(domain) > 0 || domain == kMicrosoft || FindFunction(model, node) != nullptr;
}

absl::Status CheckAllNodes(const ModelProto& proto, const ModelParts& model) {
  TARTAN_RETURN_IF_ERROR(CheckNodes(proto.graph().node(), [&](const NodeProto& node) {
    return IsImported(model, model.opsets, node);
  }));
  for (const auto& [key, function] : model.functions) {
    const Opsets& opsets = function.opsets;
    TARTAN_RETURN_IF_ERROR(Prefixed(absl::StrCat("function '", function.proto->name(), "'"),
                                    CheckNodes(function.proto->node(), [&](const NodeProto& node) {
                                      return IsImported(model, opsets, node);
                                    })));
  }
  return absl::OkStatus();
}

void CountOperators(const GraphProto& graph, const ModelParts& parts,
                    std::map<std::tuple<std::string, std::string>, OperatorCount>* counts) {
  for (const NodeProto& node : graph.node()) {
    const std::string domain(NormalDomain(node.domain()));
    OperatorCount& count = (*counts)[{domain, node.op_type()}];
    ++count.count;
    count.domain = domain;
    count.name = node.op_type();
    const auto opset = parts.opsets.find(domain);
    count.opset = opset == parts.opsets.end() ? 1 : opset->second;
    const OperatorRow* row = FindOperator(domain, node.op_type(), count.opset);
    const bool is_function = FindFunction(parts, node) != nullptr;
    count.since_version = row == nullptr || is_function ? 0 : row->since_version;
    count.supported = row != nullptr || is_function;
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) CountOperators(attribute.g(), parts, counts);
      for (const GraphProto& nested : attribute.graphs()) CountOperators(nested, parts, counts);
    }
  }
}

std::vector<OperatorCount> CountOperators(const GraphProto& graph, const ModelParts& parts) {
  std::map<std::tuple<std::string, std::string>, OperatorCount> counts;
  CountOperators(graph, parts, &counts);
  std::vector<OperatorCount> sorted;
  for (auto& [key, count] : counts) sorted.push_back(std::move(count));
  return sorted;
}

// Warnings for operators newer than the model's operator set, which are imported in their first
// form. Operators of a domain that is not imported get a warning too.
std::vector<std::string> WarningsOf(const std::vector<OperatorCount>& operators,
                                    const ModelParts& parts) {
  std::vector<std::string> warnings;
  std::vector<absl::string_view> not_imported;
  for (const OperatorCount& used : operators) {
    const bool is_function = used.supported && used.since_version == 0;
    if (used.domain != kMicrosoft || is_function || parts.opsets.count(used.domain) > 0) continue;
    not_imported.push_back(used.name);
  }
  if (!not_imported.empty()) {
    warnings.push_back(absl::StrCat("the model does not import the operator set ", kMicrosoft,
                                    " of ", absl::StrJoin(not_imported, ", "),
                                    ": version 1 is assumed"));
  }
  for (const OperatorCount& used : operators) {
    if (used.since_version <= used.opset) continue;
    warnings.push_back(absl::StrCat(used.name, " exists since operator set ", used.since_version,
                                    ", but the model imports ", used.opset,
                                    ": the operator is used as in version ", used.since_version));
  }
  return warnings;
}

absl::StatusOr<ModelParts> BuildParts(const std::shared_ptr<const ModelProto>& proto,
                                      ExternalData* external) {
  ModelParts parts;
  parts.source = {proto, external};
  parts.opsets = ReadOpsets(proto->opset_import());
  // A single operator set existed before IR version 3.
  if (proto->ir_version() < 3) parts.opsets.try_emplace("", 1);
  TARTAN_ASSIGN_OR_RETURN(parts.graph, BuildGraph(proto->graph(), parts.source));
  TARTAN_RETURN_IF_ERROR(CheckNothingCaptured(*parts.graph));
  TARTAN_ASSIGN_OR_RETURN(parts.channel_block, FindChannelBlock(*parts.graph));
  for (const FunctionProto& proto_function : proto->functions()) {
    LocalFunction function;
    function.proto = &proto_function;
    function.opsets = ReadOpsets(proto_function.opset_import());
    const std::string where = absl::StrCat("function '", proto_function.name(), "'");
    absl::StatusOr<std::unique_ptr<const Graph>> body =
        BuildFunctionBody(proto_function, parts.source);
    if (!body.ok()) return Prefixed(where, body.status());
    TARTAN_RETURN_IF_ERROR(Prefixed(where, CheckNothingCaptured(**body)));
    function.body = *std::move(body);
    parts.functions[{std::string(NormalDomain(proto_function.domain())), proto_function.name(),
                     proto_function.overload()}] = std::move(function);
  }
  TARTAN_RETURN_IF_ERROR(CheckAllNodes(*proto, parts));
  // Many threads read attributes in Bind, so attributes may not refer to external data.
  parts.source.external = nullptr;
  return parts;
}

bool IsPlainTensor(const api::TensorSpec& spec) {
  return spec.is_tensor() && spec.element == api::Element::kPlain;
}

absl::Status CheckBinding(const api::TensorSpec& spec, const api::InputBinding& binding) {
  const auto fail = [&](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("input '", spec.name, "': ", parts...));
  };
  if (!binding.given) {
    return spec.is_optional ? absl::OkStatus() : fail("it is missing and has no default");
  }
  if (!IsPlainTensor(spec)) {
    if (binding.value == nullptr) return fail("its value is needed");
    return api::CheckAgainstSpec(spec, *binding.value);
  }
  if (binding.shape.type != spec.type) {
    return fail("expected ", Name(spec.type), ", got ", binding.shape.ToString());
  }
  bool fits = !spec.has_rank || binding.shape.dims.size() == spec.dims.size();
  for (size_t d = 0; fits && spec.has_rank && d < spec.dims.size(); ++d) {
    fits = spec.dims[d] < 0 || spec.dims[d] == binding.shape.dims[d];
  }
  if (!fits) return fail("got ", binding.shape.ToString(), ", which the model does not allow");
  return CheckShape(binding.shape);
}

// A copy of the model in which every value of its graph is an output.
std::shared_ptr<const ModelProto> WithAllValues(const ModelProto& model) {
  const std::shared_ptr<ModelProto> copy = NewModelProto();
  *copy = model;
  GraphProto* graph = copy->mutable_graph();
  std::set<std::string> outputs;
  for (const ValueInfoProto& output : graph->output()) outputs.insert(output.name());
  for (const NodeProto& node : graph->node()) {
    for (const std::string& value : node.output())
      if (!value.empty() && outputs.insert(value).second) graph->add_output()->set_name(value);
  }
  return copy;
}

}  // namespace

struct OnnxModel::Impl {
  absl::Status Read(ModelFile file, const LoadOptions& options);
  absl::StatusOr<api::BoundGraph> Bind(absl::Span<const api::InputBinding> bindings,
                                       api::Resolver* resolver, const TrainingMode* training,
                                       const DecodingMode* decoding) const;

  std::string name;
  std::shared_ptr<const ModelProto> proto;
  ModelParts parts;
  Inputs inputs;
  std::vector<api::TensorSpec> outputs;
  std::map<std::string, int64_t> opsets;
  ModelMetadata metadata;
  size_t own_input_count = 0;
  int64_t depth = 0;  // maximum number of graphs open at once (nesting.h)
  int64_t parameter_count = 0;
  std::vector<OperatorCount> operators;
  std::vector<std::string> warnings;
  absl::Status operators_status;
};

OnnxModel::OnnxModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OnnxModel::~OnnxModel() = default;

const std::string& OnnxModel::name() const { return impl_->name; }
const std::vector<api::TensorSpec>& OnnxModel::inputs() const { return impl_->inputs.specs; }
size_t OnnxModel::own_input_count() const { return impl_->own_input_count; }

const HostTensor* OnnxModel::Initializer(absl::string_view name) const {
  const auto found = impl_->parts.graph->constants.find(std::string(name));
  if (found == impl_->parts.graph->constants.end() || !found->second.is_tensor()) return nullptr;
  return found->second.tensor().constant();
}

const std::vector<api::TensorSpec>& OnnxModel::outputs() const { return impl_->outputs; }
int64_t OnnxModel::ir_version() const { return impl_->proto->ir_version(); }
std::string OnnxModel::producer() const { return metadata().producer(); }
const ModelMetadata& OnnxModel::metadata() const { return impl_->metadata; }
const std::map<std::string, int64_t>& OnnxModel::opsets() const { return impl_->opsets; }
int64_t OnnxModel::parameter_count() const { return impl_->parameter_count; }
const std::vector<OperatorCount>& OnnxModel::operators() const { return impl_->operators; }
const std::vector<std::string>& OnnxModel::warnings() const { return impl_->warnings; }

std::vector<NodeSummary> OnnxModel::Nodes() const {
  std::vector<NodeSummary> nodes;
  const Graph& graph = *impl_->parts.graph;
  for (const NodeProto* node : graph.nodes) {
    nodes.push_back({LabelOf(*node),
                     node->op_type(),
                     {node->input().begin(), node->input().end()},
                     {node->output().begin(), node->output().end()}});
    for (const AttributeProto& attribute : node->attribute()) {
      const auto nested = graph.subgraphs.find(&attribute.g());
      if (nested == graph.subgraphs.end()) continue;
      for (const auto& [name, reader] : nested->second->captured)
        nodes.back().inputs.push_back(name);
    }
  }
  return nodes;
}

std::vector<std::string> OnnxModel::ValuesInOrder() const {
  std::vector<std::string> values;
  for (const NodeProto* node : impl_->parts.graph->nodes) {
    for (const std::string& value : node->output())
      if (!value.empty()) values.push_back(value);
  }
  return values;
}

std::string OnnxModel::ProducerOf(absl::string_view value) const {
  for (const NodeProto& node : impl_->proto->graph().node()) {
    for (const std::string& output : node.output())
      if (output == value) return Describe(node);
  }
  return "";
}

absl::Status OnnxModel::Impl::Read(ModelFile file, const LoadOptions& options) {
  name = file.name;
  proto = options.all_values ? WithAllValues(*file.proto) : std::move(file.proto);
  ExternalData external(file.folder);
  TARTAN_ASSIGN_OR_RETURN(parts, Prefixed(name, BuildParts(proto, &external)));
  TARTAN_ASSIGN_OR_RETURN(inputs, Prefixed(name, ReadInputs(*proto, *parts.graph)));
  TARTAN_ASSIGN_OR_RETURN(inputs.specs, options.fix_inputs(inputs.specs));
  own_input_count = inputs.specs.size();
  if (options.parameters_as_inputs) AddParameters(*proto, parts.graph.get(), &inputs);
  TARTAN_ASSIGN_OR_RETURN(outputs, Prefixed(name, ReadOutputs(proto->graph())));
  for (const auto& [domain, version] : parts.opsets)
    opsets[domain.empty() ? "ai.onnx" : domain] = version;
  metadata = MetadataOf(*proto);
  for (const TensorProto& tensor : proto->graph().initializer()) {
    parameter_count += parts.graph->constants.at(tensor.name()).tensor().shape().element_count();
  }
  operators = CountOperators(proto->graph(), parts);
  warnings = WarningsOf(operators, parts);
  operators_status = CheckOperators(parts);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const OnnxModel>> OnnxModel::FromFile(ModelFile file,
                                                                     const LoadOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->depth = DepthOf(*file.proto);
  absl::Status status;
  TARTAN_RETURN_IF_ERROR(
      WithDeepStack(impl->depth, [&] { status = impl->Read(std::move(file), options); }));
  TARTAN_RETURN_IF_ERROR(status);
  return std::shared_ptr<const OnnxModel>(new OnnxModel(std::move(impl)));
}

absl::StatusOr<std::shared_ptr<const OnnxModel>> OnnxModel::Load(const std::string& path,
                                                                 const LoadOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::shared_ptr<const OnnxModel>> {
    TARTAN_ASSIGN_OR_RETURN(ModelFile file, ReadModelFile(path));
    return FromFile(std::move(file), options);
  });
}

absl::StatusOr<std::shared_ptr<const OnnxModel>> OnnxModel::LoadBytes(
    absl::Span<const uint8_t> bytes, absl::string_view name, const LoadOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::shared_ptr<const OnnxModel>> {
    TARTAN_ASSIGN_OR_RETURN(ModelFile file, ReadModelBytes(bytes, name));
    return FromFile(std::move(file), options);
  });
}

absl::StatusOr<api::BoundGraph> OnnxModel::Impl::Bind(absl::Span<const api::InputBinding> bindings,
                                                      api::Resolver* resolver,
                                                      const TrainingMode* training,
                                                      const DecodingMode* decoding) const {
  TARTAN_RETURN_IF_ERROR(operators_status);
  const std::vector<api::TensorSpec>& specs = inputs.specs;
  if (bindings.size() != specs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(bindings.size(), " inputs are bound, but the model has ", specs.size()));
  }
  api::BoundGraph bound;
  std::vector<api::Value> values(parts.graph->inputs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    const api::InputBinding& binding = bindings[i];
    TARTAN_RETURN_IF_ERROR(CheckBinding(specs[i], binding));
    const bool is_placeholder = binding.given && binding.value == nullptr;
    if (is_placeholder && binding.tensor.defined()) {
      bound.placeholders.push_back(binding.tensor);
      values[inputs.positions[i]] = api::Value(binding.tensor);
      continue;
    }
    bound.placeholders.push_back(
        is_placeholder ? api::Tensor::Placeholder(specs[i].name, binding.shape) : api::Tensor());
    if (!binding.given) continue;
    values[inputs.positions[i]] = is_placeholder ? api::Value(bound.placeholders.back())
                                                 : api::ToLazy(*binding.value, specs[i].name);
  }
  if (resolver != nullptr) resolver->Begin(bound.placeholders);
  Importer importer(parts, resolver, training, decoding);
  TARTAN_ASSIGN_OR_RETURN(bound.outputs, importer.Import(values));
  if (importer.needed_values().empty()) {
    bound.updates = importer.updates();
    bound.random_seed = importer.random_seed();
    return bound;
  }
  api::BoundGraph request;
  const std::vector<api::Tensor>& known = bound.placeholders;
  for (const api::Tensor& placeholder : importer.needed_values()) {
    const auto found = std::find(known.begin(), known.end(), placeholder);
    request.needed_values.push_back(found == known.end() ? -1
                                                         : static_cast<int>(found - known.begin()));
  }
  return request;
}

absl::StatusOr<api::BoundGraph> OnnxModel::BindDeeply(absl::Span<const api::InputBinding> bindings,
                                                      api::Resolver* resolver,
                                                      const TrainingMode* training,
                                                      const DecodingMode* decoding) const {
  return CatchOutOfMemory([&]() -> absl::StatusOr<api::BoundGraph> {
    absl::StatusOr<api::BoundGraph> bound = absl::InternalError("not bound");
    TARTAN_RETURN_IF_ERROR(WithDeepStack(
        impl_->depth, [&] { bound = impl_->Bind(bindings, resolver, training, decoding); }));
    return bound;
  });
}

absl::StatusOr<api::BoundGraph> OnnxModel::Bind(absl::Span<const api::InputBinding> bindings,
                                                api::Resolver* resolver) const {
  return BindDeeply(bindings, resolver, nullptr, nullptr);
}

absl::StatusOr<api::BoundGraph> OnnxModel::BindToTrain(absl::Span<const api::InputBinding> bindings,
                                                       const TrainingMode& mode) const {
  return BindDeeply(bindings, nullptr, &mode, nullptr);
}

absl::StatusOr<api::BoundGraph> OnnxModel::BindToDecode(
    absl::Span<const api::InputBinding> bindings, const DecodingMode& mode) const {
  return BindDeeply(bindings, nullptr, nullptr, &mode);
}

std::string OnnxModel::Digest() const {
  return DigestOf(*impl_->proto, *this, impl_->parts.graph->constants);
}

bool OnnxModel::HasSize(int64_t size) const { return HasDimension(impl_->proto->graph(), size); }

}  // namespace tartan::onnx
