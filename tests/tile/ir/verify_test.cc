// SPDX-License-Identifier: Apache-2.0
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tile/ir/program_builder.h"
#include "tile/ir/verify_stored.h"

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
  EXPECT_THAT(Complaint(program), HasSubstr("an output names the unknown value 5"));
  program = Negation();
  program.inputs.clear();
  EXPECT_THAT(Complaint(program), HasSubstr("not every input"));
  program = Negation();
  program.output_names.clear();
  EXPECT_THAT(Complaint(program), HasSubstr("names"));
}

// Y = the elements of X negated, in float16, and a view of them.
Program NegatedHalves() {
  ProgramBuilder builder;
  const ValueId x = *builder.AddInput("X", {DataType::kFloat16, {2}});
  const ValueId y = *builder.AddElementwise(ScalarOp::kNeg, {x}, "Y");
  builder.AddOutput(*builder.AddSpecial(SpecialKind::kReshape, {y}, {1, 2}, "V"), "V");
  return std::move(builder).Build().value();
}

TEST(VerifyStored, AcceptsHalvesHeldInFloat32) {
  Program program = NegatedHalves();
  EXPECT_TRUE(VerifyStored(program).ok());
  for (ValueId v : {1, 2}) program.values[v].shape.type = DataType::kFloat32;
  EXPECT_FALSE(Verify(program).ok());
  EXPECT_TRUE(VerifyStored(program).ok()) << VerifyStored(program);
}

TEST(VerifyStored, FindsAViewInAnotherTypeThanWhatItShows) {
  Program program = NegatedHalves();
  program.values[1].shape.type = DataType::kFloat32;
  EXPECT_THAT(VerifyStored(program).message(),
              HasSubstr("the view V is stored as float16, but its source is float32"));
}

TEST(VerifyStored, FindsOtherTypesThanHalvesHeldWrongly) {
  Program program = NegatedHalves();
  program.values[1].shape.type = DataType::kFloat64;
  EXPECT_THAT(VerifyStored(program).message(), HasSubstr("float64"));
}

}  // namespace
}  // namespace tartan::ir
