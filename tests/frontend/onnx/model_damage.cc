// SPDX-License-Identifier: Apache-2.0
#include "tests/frontend/onnx/model_damage.h"

#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

namespace tartan::onnx {
namespace {

void Fields(ModelProto* model, const Material& material, Dice* dice) {
  DamageField(model, material.strings, dice);
}

// Changes numbers that are sizes, axes, counts or positions.
void Sizes(ModelProto* model, const Material& material, Dice* dice) {
  std::vector<google::protobuf::RepeatedField<int64_t>*> lists;
  for (TensorProto* tensor : All<TensorProto>(model)) lists.push_back(tensor->mutable_dims());
  for (AttributeProto* attribute : All<AttributeProto>(model)) {
    if (attribute->ints_size() > 0) lists.push_back(attribute->mutable_ints());
    if (attribute->type() == AttributeProto::INT && dice->OneIn(4)) {
      attribute->set_i(dice->OddNumber());
    }
  }
  if (!lists.empty()) {
    auto* list = dice->Among(lists);
    if (list->empty() || dice->OneIn(4)) {
      list->Add(dice->OddNumber());
    } else {
      list->Set(dice->BelowInt(list->size()), dice->OddNumber());
    }
  }
  std::vector<TensorShapeProto::Dimension*> dims = All<TensorShapeProto::Dimension>(model);
  if (!dims.empty() && dice->OneIn(3)) dice->Among(dims)->set_dim_value(dice->OddNumber());
}

double OddReal(Dice* dice) {
  constexpr double kNumbers[] = {0,
                                 -0.0,
                                 1,
                                 -1,
                                 0.5,
                                 1e-45,
                                 1e38,
                                 -1e38,
                                 1e300,
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
  return dice->OneIn(2) ? dice->Among(kNumbers) : static_cast<double>(dice->OddNumber());
}

template <class T>
void PutRaw(std::string* raw, size_t i, T value) {
  if ((i + 1) * sizeof(T) <= raw->size()) std::memcpy(&(*raw)[i * sizeof(T)], &value, sizeof(T));
}

// Overwrites one element or most of them.
void FillRaw(int32_t type, std::string* raw, Dice* dice) {
  const size_t width = type == TensorProto::INT64 || type == TensorProto::DOUBLE  ? 8
                       : type == TensorProto::INT32 || type == TensorProto::FLOAT ? 4
                                                                                  : 1;
  const size_t count = raw->size() / width;
  if (count == 0) return;
  const bool is_many = dice->OneIn(3);
  const size_t first = dice->Below(count);
  for (size_t i = first; i < (is_many ? count : first + 1); ++i) {
    if (type == TensorProto::DOUBLE) {
      PutRaw(raw, i, OddReal(dice));
    } else if (type == TensorProto::FLOAT) {
      PutRaw(raw, i, static_cast<float>(OddReal(dice)));
    } else if (width == 8) {
      PutRaw(raw, i, dice->OddNumber());
    } else if (width == 4) {
      PutRaw(raw, i, static_cast<int32_t>(dice->OddNumber()));
    } else {
      PutRaw(raw, i, static_cast<char>(dice->Below(256)));
    }
  }
}

// Changes values of initializers and of constant attributes.
void Values(ModelProto* model, const Material& material, Dice* dice) {
  const std::vector<TensorProto*> tensors = All<TensorProto>(model);
  if (tensors.empty()) return;
  TensorProto* tensor = dice->Among(tensors);
  if (!tensor->raw_data().empty()) {
    FillRaw(tensor->data_type(), tensor->mutable_raw_data(), dice);
    return;
  }
  for (int64_t& value : *tensor->mutable_int64_data()) value = dice->OddNumber();
  for (int32_t& value : *tensor->mutable_int32_data()) {
    value = static_cast<int32_t>(dice->OddNumber());
  }
  for (float& value : *tensor->mutable_float_data()) value = static_cast<float>(OddReal(dice));
  for (std::string& text : *tensor->mutable_string_data()) {
    if (dice->OneIn(2)) text = dice->Among(material.strings);
    DamageBytes(&text, dice);
  }
}

// Changes an element type, once or everywhere; keeps the number of elements where possible.
void Elements(ModelProto* model, const Material& material, Dice* dice) {
  const int32_t type = static_cast<int32_t>(dice->Below(28));
  const bool everywhere = dice->OneIn(2);
  std::vector<TypeProto::Tensor*> types = All<TypeProto::Tensor>(model);
  if (types.empty()) return;
  const int32_t before = dice->Among(types)->elem_type();
  for (TypeProto::Tensor* one : types) {
    if (one->elem_type() == before && (everywhere || dice->OneIn(2))) one->set_elem_type(type);
  }
  constexpr size_t kWidths[] = {0, 4,  1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8,
                                8, 16, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (TensorProto* tensor : All<TensorProto>(model)) {
    if (tensor->data_type() != before || before < 0 || before >= 28) continue;
    if (!everywhere && dice->OneIn(2)) continue;
    const size_t count = kWidths[before] == 0 ? static_cast<size_t>(tensor->string_data_size())
                                              : tensor->raw_data().size() / kWidths[before];
    tensor->set_data_type(type);
    tensor->clear_string_data();
    if (type == TensorProto::STRING) {
      tensor->clear_raw_data();
      for (size_t i = 0; i < count; ++i) tensor->add_string_data(dice->Among(material.strings));
    } else {
      tensor->mutable_raw_data()->resize(count * kWidths[type]);
    }
  }
}

// Replaces the contents of an attribute by another kind, and sometimes its type.
void AttributeKinds(ModelProto* model, const Material& material, Dice* dice) {
  const std::vector<AttributeProto*> attributes = All<AttributeProto>(model);
  if (attributes.empty()) return;
  AttributeProto* attribute = dice->Among(attributes);
  const std::string name = attribute->name();
  const auto type = static_cast<AttributeProto::AttributeType>(dice->Below(15));
  if (dice->OneIn(2)) attribute->Clear();
  attribute->set_name(name);
  attribute->set_type(type);
  attribute->set_i(dice->OddNumber());
  attribute->set_f(static_cast<float>(OddReal(dice)));
  attribute->set_s(dice->Among(material.strings));
  const size_t count = dice->Below(6);
  for (size_t i = 0; i < count; ++i) {
    attribute->add_ints(dice->OddNumber());
    attribute->add_floats(static_cast<float>(OddReal(dice)));
    attribute->add_strings(dice->Among(material.strings));
  }
  if (model->graph().initializer_size() > 0) {
    *attribute->mutable_t() = model->graph().initializer(0);
  }
  if (type == AttributeProto::GRAPH) *attribute->mutable_g() = GraphProto(model->graph());
}

// Copies the operator or the attributes of a node of another model.
void Nodes(ModelProto* model, const Material& material, Dice* dice) {
  const std::vector<NodeProto*> nodes = All<NodeProto>(model);
  if (nodes.empty() || material.nodes.empty()) return;
  NodeProto* node = dice->Among(nodes);
  const NodeProto& other = dice->Among(material.nodes);
  if (dice->OneIn(3)) {  // copies its attributes, too
    for (const AttributeProto& attribute : other.attribute()) *node->add_attribute() = attribute;
    return;
  }
  node->set_op_type(other.op_type());
  node->set_domain(other.domain());
  if (dice->OneIn(2)) *node->mutable_attribute() = other.attribute();
  while (node->input_size() < other.input_size() && node->input_size() > 0 && dice->OneIn(2)) {
    node->add_input(node->input(dice->BelowInt(node->input_size())));
  }
  while (node->output_size() < other.output_size()) {
    node->add_output(absl::StrCat("more", dice->Below(1000)));
  }
  const bool has_domain =
      std::any_of(model->opset_import().begin(), model->opset_import().end(),
                  [&](const OperatorSetIdProto& set) { return set.domain() == other.domain(); });
  if (has_domain) return;
  OperatorSetIdProto* opset = model->add_opset_import();
  opset->set_domain(other.domain());
  opset->set_version(1 + static_cast<int64_t>(dice->Below(5)));
}

// Removes a node, an initializer, an input or an output.
void Missing(ModelProto* model, const Material& material, Dice* dice) {
  const std::vector<GraphProto*> graphs = All<GraphProto>(model);
  if (graphs.empty()) return;
  GraphProto* graph = dice->Among(graphs);
  const auto drop = [&](auto* field) {
    if (!field->empty()) field->DeleteSubrange(dice->BelowInt(field->size()), 1);
  };
  switch (dice->Below(4)) {
    case 0:
      return drop(graph->mutable_initializer());
    case 1:
      return drop(graph->mutable_input());
    case 2:
      return drop(graph->mutable_node());
    default:
      return drop(graph->mutable_output());
  }
}

// Reconnects operands: makes cycles, mismatched shapes, and uses of names from nested bodies.
void Wires(ModelProto* model, const Material& material, Dice* dice) {
  std::vector<std::string> names = {""};
  std::vector<NodeProto*> nodes = All<NodeProto>(model);
  if (nodes.empty()) return;
  for (const NodeProto* node : nodes) {
    names.insert(names.end(), node->input().begin(), node->input().end());
    names.insert(names.end(), node->output().begin(), node->output().end());
  }
  NodeProto* node = dice->Among(nodes);
  if (node->input_size() == 0 || dice->OneIn(4)) {
    node->add_input(dice->Among(names));
  } else {
    node->set_input(dice->BelowInt(node->input_size()), dice->Among(names));
  }
}

// Moves data to external files, in the places that fuzz_models makes.
void External(ModelProto* model, const Material& material, Dice* dice) {
  constexpr const char* kLocations[] = {"data",        "../data", "sub/../data",
                                        "/etc/passwd", "link",    "sub/link/../data",
                                        "pipe",        "sub",     "",
                                        ".",           "no/such", "sub/data",
                                        "model",       "zeros",   "./data",
                                        "sub//data",   "loop",    "data/"};
  constexpr const char* kNumbers[] = {"0",    "1",
                                      "16",   "4096",
                                      "-1",   "18446744073709551615",
                                      "1x",   "1e3",
                                      "",     "9223372036854775800",
                                      "65536"};
  const std::vector<TensorProto*> tensors = All<TensorProto>(model);
  if (tensors.empty()) return;
  TensorProto* tensor = dice->Among(tensors);
  const auto put = [&](const char* key, const char* value) {
    StringStringEntryProto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  tensor->set_data_location(TensorProto::EXTERNAL);
  if (dice->OneIn(2)) tensor->clear_raw_data();
  put("location", dice->Among(kLocations));
  if (dice->OneIn(2)) put("offset", dice->Among(kNumbers));
  if (dice->OneIn(4)) put("length", dice->Among(kNumbers));
}

// Makes an initializer sparse, with positions that may be out of range.
void Sparse(ModelProto* model, const Material& material, Dice* dice) {
  GraphProto* graph = model->mutable_graph();
  if (graph->initializer_size() == 0) return;
  const int which = dice->BelowInt(graph->initializer_size());
  SparseTensorProto* sparse = graph->add_sparse_initializer();
  *sparse->mutable_values() = graph->initializer(which);
  *sparse->mutable_dims() = graph->initializer(which).dims();
  int64_t count = 1;
  for (int64_t dim : sparse->dims()) {
    if (dim < 0 || dim > 64 || count > 64) return;
    count *= dim;
  }
  TensorProto* indices = sparse->mutable_indices();
  indices->set_data_type(TensorProto::INT64);
  indices->add_dims(count);
  for (int64_t i = 0; i < count; ++i) {
    indices->add_int64_data(dice->OneIn(32) ? dice->OddNumber() : i);
  }
  if (dice->OneIn(4)) sparse->add_dims(dice->OddNumber());
  sparse->mutable_values()->clear_dims();
  sparse->mutable_values()->add_dims(count);
  graph->mutable_initializer()->DeleteSubrange(which, 1);
}

// Makes inputs sequences, optionals, maps or sparse tensors, also nested.
void Types(ModelProto* model, const Material& material, Dice* dice) {
  const std::vector<ValueInfoProto*> values = All<ValueInfoProto>(model);
  if (values.empty()) return;
  TypeProto* type = dice->Among(values)->mutable_type();
  for (size_t depth = dice->OneIn(8) ? 1 + dice->Below(40) : 1; depth > 0; --depth) {
    const TypeProto inner = *type;
    type->Clear();
    switch (dice->Below(6)) {
      case 0:
      case 1:
        *type->mutable_sequence_type()->mutable_elem_type() = inner;
        break;
      case 2:
      case 3:
        *type->mutable_optional_type()->mutable_elem_type() = inner;
        break;
      case 4:
        type->mutable_map_type()->set_key_type(TensorProto::INT64);
        *type->mutable_map_type()->mutable_value_type() = inner;
        break;
      default:
        type->mutable_sparse_tensor_type()->set_elem_type(inner.tensor_type().elem_type());
        *type->mutable_sparse_tensor_type()->mutable_shape() = inner.tensor_type().shape();
    }
  }
}

void Opsets(ModelProto* model, const Material& material, Dice* dice) {
  if (model->opset_import_size() == 0) return;
  Any(model->mutable_opset_import(), dice)
      ->set_version(dice->OneIn(8) ? dice->OddNumber() : 1 + static_cast<int64_t>(dice->Below(28)));
}

constexpr Damage kDamages[] = {
    {"fields", 6, Fields},        {"sizes", 4, Sizes},
    {"values", 5, Values},        {"elements", 2, Elements},
    {"kinds", 2, AttributeKinds}, {"nodes", 3, Nodes},
    {"missing", 1, Missing},      {"wires", 2, Wires},
    {"external", 1, External},    {"sparse", 1, Sparse},
    {"types", 1, Types},          {"opsets", 2, Opsets},
    {"nests", 1, Nest},           {"functions", 1, AddFunctions},
    {"chains", 1, Chain},         {"growth", 2, Grow},
};

}  // namespace

absl::Span<const Damage> Damages() { return kDamages; }

Material Gather(absl::Span<const std::string> corpus) {
  Material material;
  material.strings = {"", "x", "ai.onnx", std::string(1, '\0'), "\xff\xfe", std::string(300, 'a')};
  for (const std::string& bytes : corpus) {
    ModelProto model;
    if (!model.ParseFromString(bytes)) continue;
    for (const NodeProto& node : model.graph().node()) {
      if (node.ByteSizeLong() > 4096) continue;
      material.nodes.push_back(node);
      material.strings.push_back(node.op_type());
      for (const AttributeProto& attribute : node.attribute()) {
        material.strings.push_back(attribute.name());
        if (attribute.has_s()) material.strings.push_back(attribute.s());
      }
      if (model.graph().node_size() > 100) break;
    }
  }
  return material;
}

std::string AddInts(GraphProto* graph, absl::Span<const int64_t> values, bool is_scalar) {
  TensorProto* tensor = graph->add_initializer();
  tensor->set_name(absl::StrCat("ints", graph->initializer_size()));
  tensor->set_data_type(TensorProto::INT64);
  if (!is_scalar) tensor->add_dims(static_cast<int64_t>(values.size()));
  tensor->mutable_int64_data()->Add(values.begin(), values.end());
  return tensor->name();
}

}  // namespace tartan::onnx
