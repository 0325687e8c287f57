// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/onnx_text.h"

#include <cstdlib>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "frontend/api/composer.h"
#include "frontend/onnx/model/onnx_model.h"
#include "proto/onnx.pb.h"
#include "tile/base/host_tensor.h"
#include "tile/base/status_macros.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::golden {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::TensorProto;
using Words = std::vector<std::string>;

// Returns ONNX's enumeration value of a data type.
absl::StatusOr<int> TypeNumber(const std::string& name) {
  const std::map<std::string, int> numbers = {
      {"float32", TensorProto::FLOAT},    {"float16", TensorProto::FLOAT16},
      {"float64", TensorProto::DOUBLE},   {"bool", TensorProto::BOOL},
      {"int8", TensorProto::INT8},        {"uint8", TensorProto::UINT8},
      {"int32", TensorProto::INT32},      {"int64", TensorProto::INT64},
      {"bfloat16", TensorProto::BFLOAT16}};
  const auto it = numbers.find(name);
  if (it == numbers.end()) return absl::InvalidArgumentError(absl::StrCat("no type: ", name));
  return it->second;
}

absl::StatusOr<std::vector<int64_t>> Integers(absl::Span<const std::string> words) {
  std::vector<int64_t> integers;
  for (const std::string& word : words) {
    if (!absl::SimpleAtoi(word, &integers.emplace_back())) {
      return absl::InvalidArgumentError(absl::StrCat("no integer: ", word));
    }
  }
  return integers;
}

absl::Status AddInput(absl::Span<const std::string> words, GraphProto* graph) {
  onnx::ValueInfoProto* input = graph->add_input();
  input->set_name(words[1]);
  TARTAN_ASSIGN_OR_RETURN(const int type, TypeNumber(words[2]));
  TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, Integers(words.subspan(3)));
  auto* tensor = input->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (const int64_t dim : dims) tensor->mutable_shape()->add_dim()->set_dim_value(dim);
  return absl::OkStatus();
}

// Adds an initializer: the words after "=" are its elements; without them, all elements are 1.
absl::Status AddInitializer(absl::Span<const std::string> words, GraphProto* graph) {
  size_t end = 3;
  while (end < words.size() && words[end] != "=") ++end;
  TARTAN_ASSIGN_OR_RETURN(const int type, TypeNumber(words[2]));
  TensorShape shape{DataTypeFromName(words[2]), {}};
  TARTAN_ASSIGN_OR_RETURN(shape.dims, Integers(words.subspan(3, end - 3)));
  std::vector<uint8_t> bytes(shape.byte_size());
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    const size_t place = end + 1 + static_cast<size_t>(i);
    const double value = place < words.size() ? std::strtod(words[place].c_str(), nullptr) : 1;
    StoreElement(shape.type, value, i, bytes.data());
  }
  TensorProto* tensor = graph->add_initializer();
  tensor->set_name(words[1]);
  tensor->set_data_type(type);
  for (const int64_t dim : shape.dims) tensor->add_dims(dim);
  tensor->set_raw_data(std::string(bytes.begin(), bytes.end()));
  return absl::OkStatus();
}

// Adds an attribute. pads=[1,1] is a list of integers, axis=1 an integer, alpha=0.5 a float, and
// any other value a string.
absl::Status AddAttribute(const std::string& text, onnx::NodeProto* node) {
  const Words parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts.size() != 2) return absl::InvalidArgumentError(absl::StrCat("no attribute: ", text));
  if (parts[0] == "domain") {
    node->set_domain(parts[1]);
    return absl::OkStatus();
  }
  AttributeProto* attribute = node->add_attribute();
  attribute->set_name(parts[0]);
  absl::string_view value = parts[1];
  int64_t integer = 0;
  float real = 0;
  if (absl::ConsumePrefix(&value, "[") && absl::ConsumeSuffix(&value, "]")) {
    attribute->set_type(AttributeProto::INTS);
    const Words items = absl::StrSplit(value, ',', absl::SkipEmpty());
    TARTAN_ASSIGN_OR_RETURN(const std::vector<int64_t> integers, Integers(items));
    for (const int64_t item : integers) attribute->add_ints(item);
  } else if (absl::SimpleAtoi(value, &integer)) {
    attribute->set_type(AttributeProto::INT);
    attribute->set_i(integer);
  } else if (absl::SimpleAtof(value, &real)) {
    attribute->set_type(AttributeProto::FLOAT);
    attribute->set_f(real);
  } else {
    attribute->set_type(AttributeProto::STRING);
    attribute->set_s(parts[1]);
  }
  return absl::OkStatus();
}

// Adds a node from a line such as "y, z = Op(a, b) axis=1".
absl::Status AddNode(const std::string& line, GraphProto* graph) {
  const size_t open = line.find('(');
  const size_t close = line.find(')');
  const size_t equals = line.find('=');
  if (open == std::string::npos || close == std::string::npos || equals > open) {
    return absl::InvalidArgumentError(absl::StrCat("no node: ", line));
  }
  onnx::NodeProto* node = graph->add_node();
  const auto names = [](absl::string_view text) {
    Words words = absl::StrSplit(text, ',');
    for (std::string& word : words) absl::StripAsciiWhitespace(&word);
    return words;
  };
  for (const std::string& name : names(line.substr(0, equals))) node->add_output(name);
  for (const std::string& name : names(line.substr(open + 1, close - open - 1))) {
    node->add_input(name);
  }
  std::string op = line.substr(equals + 1, open - equals - 1);
  absl::StripAsciiWhitespace(&op);
  node->set_op_type(op);
  const Words attributes = absl::StrSplit(line.substr(close + 1), ' ', absl::SkipEmpty());
  for (const std::string& text : attributes) TARTAN_RETURN_IF_ERROR(AddAttribute(text, node));
  return absl::OkStatus();
}

absl::Status AddLine(const std::string& line, onnx::ModelProto* model) {
  GraphProto* graph = model->mutable_graph();
  const Words words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (words.empty()) return absl::OkStatus();
  int64_t opset = 0;
  if (words[0] == "opset" && words.size() == 2 && absl::SimpleAtoi(words[1], &opset)) {
    model->mutable_opset_import(0)->set_version(opset);
  } else if (words[0] == "input" && words.size() >= 3) {
    return AddInput(words, graph);
  } else if ((words[0] == "weight" || words[0] == "value") && words.size() >= 3) {
    return AddInitializer(words, graph);
  } else if (words[0] == "output" && words.size() == 2) {
    graph->add_output()->set_name(words[1]);
  } else {
    return AddNode(line, graph);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const onnx::OnnxModel>> LoadModel(const std::string& text,
                                                                 const std::string& name) {
  absl::string_view path = absl::StripAsciiWhitespace(text);
  if (absl::ConsumePrefix(&path, "file ")) {
    const char* root = std::getenv("TARTAN_SOURCE_DIR");
    return onnx::OnnxModel::Load(absl::StrCat(root == nullptr ? "." : root, "/", path));
  }
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::OperatorSetIdProto* microsoft = model.add_opset_import();
  microsoft->set_domain("com.microsoft");
  microsoft->set_version(1);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    TARTAN_RETURN_IF_ERROR(AddLine(std::string(line), &model));
  }
  const std::string bytes = model.SerializeAsString();
  return onnx::OnnxModel::LoadBytes({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                                    name);
}

absl::StatusOr<api::ComposedProgram> ComposeModel(const onnx::OnnxModel& model) {
  std::vector<api::InputBinding> bindings;
  for (const api::TensorSpec& spec : model.inputs()) {
    api::InputBinding& binding = bindings.emplace_back();
    binding.given = !spec.is_optional;
    binding.shape = {spec.type, spec.dims};
    for (int64_t& dim : binding.shape.dims) {
      if (dim < 0) dim = 1;
    }
  }
  TARTAN_ASSIGN_OR_RETURN(const api::BoundGraph graph, model.Bind(bindings));
  if (!graph.needed_values.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(model.name(), " depends on inputs' values"));
  }
  std::vector<api::Tensor> placeholders;
  for (const api::Tensor& tensor : graph.placeholders) {
    if (tensor.defined()) placeholders.push_back(tensor);
  }
  std::vector<api::Tensor> outputs;
  for (const api::Value& value : graph.outputs) outputs.push_back(value.tensor());
  return api::Compose(placeholders, outputs, model.name());
}

}  // namespace

absl::StatusOr<ir::Program> ImportModel(const std::string& text, const std::string& name) {
  TARTAN_ASSIGN_OR_RETURN(const auto model, LoadModel(text, name));
  TARTAN_ASSIGN_OR_RETURN(const api::ComposedProgram composed, ComposeModel(*model));
  TARTAN_ASSIGN_OR_RETURN(const lang::Function function,
                          lang::Parse(composed.program.code(), name));
  lang::BindOptions options;
  options.file = name;
  options.text = composed.program.code();
  std::vector<TensorShape> shapes;
  for (const proto::Program::Input& input : composed.program.inputs()) {
    shapes.push_back({static_cast<DataType>(input.shape().type()),
                      {input.shape().dims().begin(), input.shape().dims().end()}});
    options.inputs.push_back({input.is_constant(), input.is_state(), input.next() - 1});
  }
  TARTAN_ASSIGN_OR_RETURN(ir::Program bound, lang::Bind(function, shapes, options));
  bound.name = name;
  return bound;
}

}  // namespace tartan::golden
