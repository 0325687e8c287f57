// SPDX-License-Identifier: Apache-2.0
// Damage that makes a small model large.
#include "absl/strings/str_cat.h"
#include "tests/frontend/onnx/model_damage.h"

namespace tartan::onnx {
namespace {

void AddIntAttribute(NodeProto* node, const char* name, int64_t value) {
  AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(AttributeProto::INT);
  attribute->set_i(value);
}

void AddOpset(google::protobuf::RepeatedPtrField<OperatorSetIdProto>* opsets,
              const std::string& domain, int64_t version) {
  OperatorSetIdProto* opset = opsets->Add();
  opset->set_domain(domain);
  opset->set_version(version);
}

int64_t DefaultOpset(const ModelProto& model) {
  for (const OperatorSetIdProto& opset : model.opset_import()) {
    if (opset.domain().empty()) return opset.version();
  }
  return 17;
}

// The first node's first input, or the graph's first input.
std::string SomeTensor(const GraphProto& graph, Dice* dice) {
  if (graph.node_size() > 0) {
    const NodeProto& node = graph.node(dice->BelowInt(graph.node_size()));
    if (node.input_size() > 0) return node.input(dice->BelowInt(node.input_size()));
  }
  return graph.input_size() > 0 ? graph.input(0).name() : "";
}

void AddOutput(GraphProto* graph, const std::string& name) { graph->add_output()->set_name(name); }

// An If node whose body contains `inner`.
NodeProto If(const NodeProto& inner, const std::string& condition) {
  NodeProto node;
  node.set_op_type("If");
  node.add_input(condition);
  *node.mutable_output() = inner.output();
  for (const char* name : {"then_branch", "else_branch"}) {
    AttributeProto* branch = node.add_attribute();
    branch->set_name(name);
    branch->set_type(AttributeProto::GRAPH);
    *branch->mutable_g()->add_node() = inner;
    for (const std::string& output : inner.output()) AddOutput(branch->mutable_g(), output);
    if (inner.ByteSizeLong() > 2000) break;  // each level may double the size
  }
  return node;
}

NodeProto Loop(const NodeProto& inner, const std::string& iterations, const std::string& condition,
               bool is_state) {
  NodeProto node;
  node.set_op_type("Loop");
  node.add_input(iterations);
  node.add_input(condition);
  AttributeProto* attribute = node.add_attribute();
  attribute->set_name("body");
  attribute->set_type(AttributeProto::GRAPH);
  GraphProto* body = attribute->mutable_g();
  body->add_input()->set_name("iteration");
  body->add_input()->set_name("condition");
  NodeProto* identity = body->add_node();
  identity->set_op_type("Identity");
  identity->add_input("condition");
  identity->add_output("still");
  *body->add_node() = inner;
  AddOutput(body, "still");
  for (const std::string& output : inner.output()) AddOutput(body, output);
  *node.mutable_output() = inner.output();
  if (is_state && inner.input_size() > 0 && inner.output_size() > 0) {
    node.add_input(inner.input(0));
    body->add_input()->set_name(inner.input(0));
  }
  return node;
}

std::string AddCondition(GraphProto* graph, bool value) {
  TensorProto* tensor = graph->add_initializer();
  tensor->set_name(absl::StrCat("condition", graph->initializer_size()));
  tensor->set_data_type(TensorProto::BOOL);
  tensor->add_int32_data(value ? 1 : 0);
  return tensor->name();
}

}  // namespace

void Nest(ModelProto* model, const Material& material, Dice* dice) {
  GraphProto* graph = model->mutable_graph();
  if (graph->node_size() == 0) return;
  NodeProto* place = Any(graph->mutable_node(), dice);
  NodeProto node = *place;
  const size_t depth = dice->OneIn(3) ? 1 + dice->Below(30) : 1 + dice->Below(3);
  const std::string condition = dice->OneIn(6) ? "" : AddCondition(graph, !dice->OneIn(4));
  for (size_t i = 0; i < depth && node.ByteSizeLong() < 100000; ++i) {
    if (dice->OneIn(3)) {
      const int64_t iterations = dice->OneIn(2) ? dice->OddNumber() : 5;
      node = Loop(node, dice->OneIn(8) ? "" : AddInts(graph, {iterations}, true), condition,
                  dice->OneIn(2));
    } else {
      node = If(node, condition);
    }
  }
  *place = node;
}

void AddFunctions(ModelProto* model, const Material& material, Dice* dice) {
  GraphProto* graph = model->mutable_graph();
  if (graph->node_size() == 0) return;
  constexpr int kDepths[] = {1, 3, 10, 20, 62, 70, 300};
  const int depth = dice->Among(kDepths);
  const bool is_cyclic = dice->OneIn(4);
  // number of calls of the next function
  const int calls = dice->OneIn(6) ? 2 + dice->BelowInt(2) : 1;
  const int64_t opset = DefaultOpset(*model);
  NodeProto* place = Any(graph->mutable_node(), dice);
  const NodeProto node = *place;
  for (int i = 0; i < depth; ++i) {
    FunctionProto* function = model->add_functions();
    function->set_domain("f");
    function->set_name(absl::StrCat("f", i));
    *function->mutable_input() = node.input();
    *function->mutable_output() = node.output();
    AddOpset(function->mutable_opset_import(), "", opset);
    AddOpset(function->mutable_opset_import(), "f", 1);
    if (node.domain() != "") AddOpset(function->mutable_opset_import(), node.domain(), 1);
    for (const AttributeProto& attribute : node.attribute()) {
      function->add_attribute(attribute.name());
    }
    for (int call = 0; call < calls; ++call) {
      NodeProto* inner = function->add_node();
      *inner = node;
      if (call > 0) {
        for (std::string& output : *inner->mutable_output()) absl::StrAppend(&output, call);
      }
      for (AttributeProto& attribute : *inner->mutable_attribute()) {
        const std::string name = attribute.name();
        const auto type = attribute.type();
        attribute.Clear();
        attribute.set_name(name);
        attribute.set_ref_attr_name(name);
        attribute.set_type(type);
      }
      if (i + 1 == depth && !is_cyclic) continue;
      inner->set_domain("f");
      inner->set_op_type(absl::StrCat("f", i + 1 == depth ? 0 : i + 1));
    }
  }
  place->set_domain("f");
  place->set_op_type("f0");
  AddOpset(model->mutable_opset_import(), "f", 1);
}

// Repeats x = f(x) many times; some functions double the size each time.
void Chain(ModelProto* model, const Material& material, Dice* dice) {
  GraphProto* graph = model->mutable_graph();
  constexpr const char* kOperators[] = {
      "Add", "Concat", "Mul", "MatMul", "Sum", "Pow", "Max", "SequenceConstruct", "StringConcat"};
  constexpr int kLengths[] = {3, 40, 70, 300, 2000};
  const int length = dice->Among(kLengths);
  std::string x = SomeTensor(*graph, dice);
  NodeProto node;
  if (graph->node_size() > 0 && dice->OneIn(2)) {
    node = *Any(graph->mutable_node(), dice);
  } else {
    node.set_op_type(dice->Among(kOperators));
    node.add_input(x);
    node.add_input(x);
    if (node.op_type() == "Concat") AddIntAttribute(&node, "axis", 0);
  }
  if (node.ByteSizeLong() > 5000 || node.input_size() == 0 || node.output_size() > 4) return;
  for (int i = 0; i < length; ++i) {
    NodeProto* link = graph->add_node();
    *link = node;
    link->clear_output();
    link->set_input(0, x);
    if (node.input_size() > 1 && node.input(1) == node.input(0)) link->set_input(1, x);
    x = absl::StrCat("chain", graph->node_size());
    link->add_output(x);
  }
  AddOutput(graph, x);
}

void Grow(ModelProto* model, const Material& material, Dice* dice) {
  constexpr const char* kOperators[] = {
      "Expand",  "Tile",    "ConstantOfShape", "Range",           "Pad",          "OneHot",
      "Reshape", "Resize",  "EyeLike",         "Slice",           "TopK",         "Split",
      "Gather",  "Squeeze", "HannWindow",      "SplitToSequence", "RandomNormal", "Unsqueeze"};
  GraphProto* graph = model->mutable_graph();
  NodeProto* node = graph->add_node();
  node->set_op_type(dice->Among(kOperators));
  if (node->op_type() != "ConstantOfShape" && node->op_type() != "Range" &&
      node->op_type() != "HannWindow") {
    node->add_input(SomeTensor(*graph, dice));
  }
  const size_t operands = node->op_type() == "ConstantOfShape" ? 1 : 1 + dice->Below(3);
  for (size_t i = 0; i < operands; ++i) {
    std::vector<int64_t> values(dice->OneIn(3) ? 1 : dice->Below(5));
    for (int64_t& value : values) value = dice->OneIn(2) ? dice->OddNumber() : 2;
    const bool is_scalar = values.size() == 1 && dice->OneIn(2);
    node->add_input(AddInts(graph, values, is_scalar));
  }
  if (dice->OneIn(3)) AddIntAttribute(node, "axis", dice->OddNumber());
  const std::string output = absl::StrCat("grown", graph->node_size());
  node->add_output(output);
  if (dice->OneIn(3)) {  // another node reads the result
    NodeProto* reader = Any(graph->mutable_node(), dice);
    if (reader->input_size() > 0) reader->set_input(0, output);
  }
  AddOutput(graph, output);
}

}  // namespace tartan::onnx
