// SPDX-License-Identifier: Apache-2.0
#include "frontend/onnx/model/quantize_weights.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/onnx/model/model_reader.h"
#include "frontend/onnx/model/model_writer.h"
#include "frontend/onnx/model/nesting.h"
#include "frontend/onnx/model/quantize_block.h"
#include "frontend/onnx/values/external_data.h"
#include "frontend/onnx/values/tensor_proto.h"
#include "proto/onnx.pb.h"
#include "tile/base/status_macros.h"

namespace tartan::onnx {
namespace {

constexpr char kMatMulDomain[] = "com.microsoft";
// Minimum elements of a weight that is quantized (empirical).
constexpr int64_t kMinElements = 4096;

bool IsOnnx(const NodeProto& node) { return node.domain().empty() || node.domain() == "ai.onnx"; }

double NumberOf(const NodeProto& node, const char* name, double otherwise) {
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != name) continue;
    return attribute.type() == AttributeProto::FLOAT ? static_cast<double>(attribute.f())
                                                     : static_cast<double>(attribute.i());
  }
  return otherwise;
}

void AddInt(const char* name, int64_t value, NodeProto* node) {
  AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(AttributeProto::INT);
  attribute->set_i(value);
}

int64_t BytesOf(const GraphProto& graph) {
  int64_t bytes = 0;
  for (const TensorProto& tensor : graph.initializer()) {
    int64_t elements = 1;
    for (const int64_t dim : tensor.dims()) elements *= dim;
    const auto type = DataTypeFromOnnx(tensor.data_type());
    bytes +=
        type.ok() ? elements * ByteWidth(*type) : static_cast<int64_t>(tensor.raw_data().size());
  }
  return bytes;
}

// The second factor of a matmul: an initialiser, or the transpose of one.
struct WeightFactor {
  const TensorProto* tensor = nullptr;
  bool is_transposed = false;  // [N, K] instead of [K, N]
};

class Quantizer {
 public:
  Quantizer(const ModelFile& file, const QuantizeOptions& options)
      : file_(file), options_(options), external_(file.folder), proto_(NewModelProto()) {
    *proto_ = *file.proto;
  }

  absl::StatusOr<QuantizedModel> Run(const std::string& to) {
    GraphProto* graph = proto_->mutable_graph();
    result_.bytes_before = BytesOf(*graph);
    FindNames(*graph);
    for (NodeProto& node : *graph->mutable_node()) TARTAN_RETURN_IF_ERROR(Visit(&node));
    AppendNodes(graph);
    for (TensorProto& tensor : made_) *graph->add_initializer() = std::move(tensor);
    RemoveUnread(graph);
    if (!result_.tensors.empty()) ImportDomain();
    result_.bytes_after = BytesOf(*graph);
    TARTAN_RETURN_IF_ERROR(WriteModel({proto_, file_.name, file_.folder}, to));
    return std::move(result_);
  }

 private:
  void FindNames(const GraphProto& graph) {
    for (const TensorProto& tensor : graph.initializer()) {
      initializers_[tensor.name()] = &tensor;
      names_.insert(tensor.name());
    }
    // Callers may set these inputs to another value.
    for (const ValueInfoProto& input : graph.input()) {
      initializers_.erase(input.name());
      names_.insert(input.name());
    }
    for (const NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) names_.insert(output);
      const bool transposes = IsOnnx(node) && node.op_type() == "Transpose" &&
                              node.input_size() == 1 && node.output_size() == 1;
      if (!transposes) continue;
      const auto found = initializers_.find(node.input(0));
      if (found == initializers_.end() || found->second->dims_size() != 2) continue;
      const bool swaps = node.attribute().empty() ||
                         (node.attribute(0).ints_size() == 2 && node.attribute(0).ints(0) == 1);
      if (swaps) transposed_[node.output(0)] = found->second;
    }
  }

  WeightFactor FactorOf(const NodeProto& node) const {
    const bool is_product =
        IsOnnx(node) && (node.op_type() == "MatMul" || node.op_type() == "Gemm");
    if (!is_product || node.input_size() < 2) return {};
    if (const auto found = initializers_.find(node.input(1)); found != initializers_.end()) {
      return {found->second, false};
    }
    const auto found = transposed_.find(node.input(1));
    return found == transposed_.end() ? WeightFactor{} : WeightFactor{found->second, true};
  }

  absl::Status Visit(NodeProto* node) {
    WeightFactor factor = FactorOf(*node);
    if (factor.tensor == nullptr) return absl::OkStatus();
    const std::string name = factor.tensor->name();
    bool fits = factor.tensor->data_type() == TensorProto::FLOAT && factor.tensor->dims_size() == 2;
    double scale = 1;
    if (node->op_type() == "Gemm") {
      if (NumberOf(*node, "transB", 0) != 0) factor.is_transposed = !factor.is_transposed;
      scale = NumberOf(*node, "alpha", 1);
      const bool has_sum = node->input_size() > 2 && !node->input(2).empty();
      fits = fits && NumberOf(*node, "transA", 0) == 0 && std::isfinite(scale) &&
             (!has_sum || NumberOf(*node, "beta", 1) == 1);
    }
    if (fits) {
      const int64_t terms = factor.tensor->dims(factor.is_transposed ? 1 : 0);
      const int64_t results = factor.tensor->dims(factor.is_transposed ? 0 : 1);
      fits = terms >= options_.block && terms * results >= kMinElements;
    }
    if (fits) {
      TARTAN_ASSIGN_OR_RETURN(fits, Replace(factor, scale, node));
    }
    if (!fits && kept_.insert(name).second) result_.kept.push_back(name);
    return absl::OkStatus();
  }

  // Replaces a matmul by MatMulNBits. Returns false if a weight is not finite.
  absl::StatusOr<bool> Replace(const WeightFactor& factor, double scale, NodeProto* node) {
    const std::string key =
        absl::StrCat(factor.tensor->name(), factor.is_transposed ? " transposed " : " ", scale);
    if (stored_.count(key) == 0) {
      TARTAN_ASSIGN_OR_RETURN(const HostTensor values,
                              ToHostTensor(*factor.tensor, {proto_, &external_}));
      const auto* data = reinterpret_cast<const float*>(values.bytes().data());
      const int64_t count = values.element_count();
      if (!std::all_of(data, data + count, [](float v) { return std::isfinite(v); })) return false;
      Store(key, *factor.tensor, factor.is_transposed, static_cast<float>(scale), data);
    }
    const Stored& stored = stored_.at(key);
    const bool has_sum = node->input_size() > 2 && !node->input(2).empty();
    const std::string sum = has_sum ? node->input(2) : "";
    node->set_op_type("MatMulNBits");
    node->set_domain(kMatMulDomain);
    const std::string rows = node->input(0);
    node->clear_input();
    for (const std::string& input : {rows, stored.numbers, stored.scales}) node->add_input(input);
    node->clear_attribute();
    AddInt("K", stored.terms, node);
    AddInt("N", stored.results, node);
    AddInt("bits", options_.bits, node);
    AddInt("block_size", options_.block, node);
    if (has_sum) {
      NodeProto add;
      add.set_op_type("Add");
      add.set_name(node->name().empty() ? "" : absl::StrCat(node->name(), "_sum"));
      add.add_input(NewName(absl::StrCat(node->output(0), "_product")));
      add.add_input(sum);
      add.add_output(node->output(0));
      node->set_output(0, add.input(0));
      sums_[add.input(0)] = std::move(add);
    }
    return true;
  }

  struct Stored {
    std::string numbers;
    std::string scales;
    int64_t terms = 0;
    int64_t results = 0;
  };

  void Store(const std::string& key, const TensorProto& tensor, bool is_transposed, float scale,
             const float* values) {
    Stored stored;
    stored.terms = tensor.dims(is_transposed ? 1 : 0);
    stored.results = tensor.dims(is_transposed ? 0 : 1);
    BlockedRows rows =
        QuantizeRows(values, stored.results, stored.terms, is_transposed ? stored.terms : 1,
                     is_transposed ? 1 : stored.results, options_.bits, options_.block);
    for (float& each : rows.scales) each *= scale;
    const std::string name = absl::StrCat(tensor.name(), "_q", options_.bits);
    stored.numbers = NewName(name);
    stored.scales = NewName(absl::StrCat(name, "_scales"));
    const int64_t bytes = options_.block * options_.bits / 8;
    Add(stored.numbers,
        HostTensor::FromVector({DataType::kUInt8, {stored.results, rows.blocks(), bytes}},
                               rows.numbers));
    Add(stored.scales, HostTensor::FromVector(
                           {DataType::kFloat32, {stored.results * rows.blocks()}}, rows.scales));
    result_.tensors.push_back({tensor.name(), options_.bits, rows.max_error, rows.rms_error});
    stored_[key] = std::move(stored);
  }

  void Add(const std::string& name, const HostTensor& value) {
    made_.emplace_back();
    ToTensorProto(value, &made_.back());
    made_.back().set_name(name);
  }

  std::string NewName(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !names_.insert(name).second; ++i) name = absl::StrCat(wanted, "_", i);
    return name;
  }

  // Adds the bias of each replaced Gemm after its matmul.
  void AppendNodes(GraphProto* graph) {
    if (sums_.empty()) return;
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    for (NodeProto& node : *graph->mutable_node()) {
      const auto sum = node.output_size() == 0 ? sums_.end() : sums_.find(node.output(0));
      *nodes.Add() = std::move(node);
      if (sum != sums_.end()) *nodes.Add() = std::move(sum->second);
    }
    graph->mutable_node()->Swap(&nodes);
  }

  static void Reads(const GraphProto& graph, std::set<std::string>* names) {
    for (const ValueInfoProto& output : graph.output()) names->insert(output.name());
    for (const NodeProto& node : graph.node()) {
      names->insert(node.input().begin(), node.input().end());
      for (const AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) Reads(attribute.g(), names);
        for (const GraphProto& nested : attribute.graphs()) Reads(nested, names);
      }
    }
  }

  // Removes the replaced weights and the nodes that transposed them. Initialisers that were already
  // unread stay.
  void RemoveUnread(GraphProto* graph) {
    std::set<std::string> was_read;
    Reads(file_.proto->graph(), &was_read);
    std::set<std::string> reads;
    Reads(*graph, &reads);
    const auto is_left = [&](const std::string& name) {
      return was_read.count(name) > 0 && reads.count(name) == 0;
    };
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    for (NodeProto& node : *graph->mutable_node()) {
      const bool goes = node.output_size() == 1 && transposed_.count(node.output(0)) > 0 &&
                        is_left(node.output(0));
      if (!goes) *nodes.Add() = std::move(node);
    }
    graph->mutable_node()->Swap(&nodes);
    reads.clear();
    Reads(*graph, &reads);
    google::protobuf::RepeatedPtrField<TensorProto> initializers;
    std::set<std::string> given;
    for (const ValueInfoProto& input : graph->input()) given.insert(input.name());
    for (TensorProto& tensor : *graph->mutable_initializer()) {
      if (given.count(tensor.name()) == 0 && is_left(tensor.name())) continue;
      *initializers.Add() = std::move(tensor);
    }
    graph->mutable_initializer()->Swap(&initializers);
  }

  void ImportDomain() {
    for (const OperatorSetIdProto& opset : proto_->opset_import()) {
      if (opset.domain() == kMatMulDomain) return;
    }
    OperatorSetIdProto* opset = proto_->add_opset_import();
    opset->set_domain(kMatMulDomain);
    opset->set_version(1);
  }

  const ModelFile& file_;
  const QuantizeOptions options_;
  ExternalData external_;
  const std::shared_ptr<ModelProto> proto_;
  // Initialisers that callers cannot override.
  std::map<std::string, const TensorProto*> initializers_;
  std::map<std::string, const TensorProto*> transposed_;  // by the name of the transpose
  std::set<std::string> names_;
  std::map<std::string, Stored> stored_;
  std::map<std::string, NodeProto> sums_;  // by the name of the matmul's result
  std::set<std::string> kept_;
  std::vector<TensorProto> made_;
  QuantizedModel result_;
};

}  // namespace

absl::StatusOr<QuantizedModel> QuantizeWeights(const std::string& from, const std::string& to,
                                               const QuantizeOptions& options) {
  TARTAN_ASSIGN_OR_RETURN(const ModelFile file, ReadModelFile(from));
  return Quantizer(file, options).Run(to);
}

}  // namespace tartan::onnx
