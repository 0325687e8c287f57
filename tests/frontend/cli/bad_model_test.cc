// SPDX-License-Identifier: Apache-2.0
// Tests that invalid models are refused with one message that names the cause, and the right exit
// code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "frontend/cli/file_io.h"
#include "proto/onnx.pb.h"
#include "tests/frontend/cli/run_program.h"

namespace tartan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

onnx::ValueInfoProto* Declare(onnx::ValueInfoProto* value, const std::string& name) {
  value->set_name(name);
  auto* type = value->mutable_type()->mutable_tensor_type();
  type->set_elem_type(1);
  type->mutable_shape()->add_dim()->set_dim_value(2);
  return value;
}

onnx::NodeProto* AddNode(onnx::GraphProto* graph, const std::string& op,
                         const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto* node = graph->add_node();
  node->set_name("the_" + output);
  node->set_op_type(op);
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
  return node;
}

// A model with x float32[2], y float32[2] and no nodes.
onnx::ModelProto EmptyModel(int64_t opset = 13) {
  onnx::ModelProto model;
  model.set_ir_version(7);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("bad");
  Declare(model.mutable_graph()->add_input(), "x");
  Declare(model.mutable_graph()->add_output(), "y");
  return model;
}

class BadModel : public ::testing::Test {
 protected:
  BadModel() : folder_(::testing::TempDir() + "bad_model_test/") {
    std::filesystem::create_directories(folder_);
  }

  ProgramResult ChunkBytes(const std::string& bytes) {
    const std::string path = folder_ + "model.onnx";
    EXPECT_TRUE(WriteFile(path, bytes).ok());
    return RunTartan({"run", path, "--random"});
  }
  ProgramResult Run(const onnx::ModelProto& model) { return ChunkBytes(model.SerializeAsString()); }

  static void ExpectRefused(const ProgramResult& result, const std::string& message) {
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_THAT(result.err, StartsWith("tartan: "));
    EXPECT_THAT(result.err, HasSubstr(message));
  }

  const std::string folder_;
};

TEST_F(BadModel, ARightOneRuns) {
  onnx::ModelProto model = EmptyModel();
  AddNode(model.mutable_graph(), "Neg", {"x"}, "y");
  const auto result = Run(model);
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(BadModel, IsNoModel) {
  ExpectRefused(ChunkBytes("# this is a text\n"), "not an ONNX model");
  ExpectRefused(ChunkBytes(""), "it is empty");
}

TEST_F(BadModel, IsCutOff) {
  std::ifstream file(SourcePath("examples/digits/digits.onnx"), std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  ExpectRefused(ChunkBytes(bytes.str().substr(0, bytes.str().size() / 2)), "truncated");
}

TEST_F(BadModel, HasAnUnknownOperator) {
  onnx::ModelProto model = EmptyModel();
  AddNode(model.mutable_graph(), "Frobnicate", {"x"}, "y");
  ExpectRefused(Run(model), "Frobnicate");
}

TEST_F(BadModel, HasAnOperatorOfAnUnknownDomain) {
  onnx::ModelProto model = EmptyModel();
  auto* opset = model.add_opset_import();
  opset->set_domain("com.example");
  opset->set_version(1);
  AddNode(model.mutable_graph(), "Neg", {"x"}, "y")->set_domain("com.example");
  ExpectRefused(Run(model), "com.example");
}

TEST_F(BadModel, HasAnOpsetOfTheFuture) {
  onnx::ModelProto model = EmptyModel(1000);
  AddNode(model.mutable_graph(), "Neg", {"x"}, "y");
  ExpectRefused(Run(model), "1000");
}

TEST_F(BadModel, HasACycle) {
  onnx::ModelProto model = EmptyModel();
  AddNode(model.mutable_graph(), "Add", {"x", "y"}, "z");
  AddNode(model.mutable_graph(), "Neg", {"z"}, "y");
  ExpectRefused(Run(model), "the_y");
}

TEST_F(BadModel, HasAnOperandThatNothingMakes) {
  onnx::ModelProto model = EmptyModel();
  AddNode(model.mutable_graph(), "Neg", {"ghost"}, "y");
  ExpectRefused(Run(model), "ghost");
}

TEST_F(BadModel, HasWeightsOutsideItsFolder) {
  onnx::ModelProto model = EmptyModel();
  AddNode(model.mutable_graph(), "Add", {"x", "w"}, "y");
  onnx::TensorProto* weight = model.mutable_graph()->add_initializer();
  weight->set_name("w");
  weight->set_data_type(1);
  weight->add_dims(2);
  weight->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* location = weight->add_external_data();
  location->set_key("location");
  location->set_value("../../../etc/passwd");
  ExpectRefused(Run(model), "../../../etc/passwd");
}

TEST_F(BadModel, HasShapesThatDoNotFit) {
  onnx::ModelProto model = EmptyModel();
  AddNode(model.mutable_graph(), "MatMul", {"x", "w"}, "y");
  onnx::TensorProto* weight = model.mutable_graph()->add_initializer();
  weight->set_name("w");
  weight->set_data_type(1);
  weight->add_dims(3);
  for (int i = 0; i < 3; ++i) weight->add_float_data(1);
  ExpectRefused(Run(model), "the_y");
}

}  // namespace
}  // namespace tartan::cli
