#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tile/ir/program_builder.h"

namespace tartan::ir {
namespace {

using ::testing::HasSubstr;

Program Negation() {
  ProgramBuilder builder;
  const ValueId x = *builder.AddInput("X", {DataType::kFloat32, {2}});
  builder.AddOutput(*builder.AddElementwise(ScalarOp::kNeg, {x}, "Y"), "Y");
  return std::move(builder).Build().value();
}

std::string Complaint(const Program& program) {
  const absl::Status status = Verify(program);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  return std::string(status.message());
}

TEST(Verify, AcceptsWhatTheBuilderMakes) { EXPECT_TRUE(Verify(Negation()).ok()); }

TEST(Verify, FindsOperandsOutOfOrder) {
  Program program = Negation();
  std::get<Elementwise>(program.values[1].op).operands = {1};
  EXPECT_THAT(Complaint(program), HasSubstr("value 1 (Y): operand 1 does not come before it"));
}

TEST(Verify, FindsWrongShapesAndTypes) {
  Program program = Negation();
  program.values[1].shape.dims = {3};
  EXPECT_THAT(Complaint(program), HasSubstr("its shape is float32[3]"));
  program = Negation();
  program.values[1].shape.type = DataType::kInt32;
  EXPECT_THAT(Complaint(program), HasSubstr("gives float32[2]"));
}

TEST(Verify, FindsLiteralsOfTheWrongKind) {
  Program program = Negation();
  program.values.push_back({"C", {DataType::kFloat32, {}}, Constant{int64_t{1}, false}});
  EXPECT_THAT(Complaint(program), HasSubstr("literal"));
}

TEST(Verify, FindsABrokenInterface) {
  Program program = Negation();
  program.outputs = {5};
  EXPECT_THAT(Complaint(program), HasSubstr("no output 5"));
  program = Negation();
  program.inputs.clear();
  EXPECT_THAT(Complaint(program), HasSubstr("not every input"));
  program = Negation();
  program.output_names.clear();
  EXPECT_THAT(Complaint(program), HasSubstr("names"));
}

}  // namespace
}  // namespace tartan::ir
