// SPDX-License-Identifier: Apache-2.0
#include "tile/ir/program_builder.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::ir {
namespace {

using ::testing::HasSubstr;
using T = DataType;

class ProgramBuilderTest : public testing::Test {
 protected:
  ValueId In(T type, std::vector<int64_t> dims) {
    return builder_.AddInput("X", {type, std::move(dims)}).value();
  }
  T TypeOf(ScalarOp op, std::vector<ValueId> operands) {
    const auto value = builder_.AddElementwise(op, operands);
    return value.ok() ? builder_.shape(*value).type : T::kInvalid;
  }
  const Constant& Literal(const absl::StatusOr<ValueId>& value) {
    return std::get<Constant>(builder_.program().values[value.value()].op);
  }

  ProgramBuilder builder_;
};

TEST_F(ProgramBuilderTest, BroadcastsShapes) {
  const auto sum =
      builder_.AddElementwise(ScalarOp::kAdd, {In(T::kFloat32, {2, 1}), In(T::kFloat32, {3})});
  EXPECT_EQ(builder_.shape(*sum).ToString(), "float32[2, 3]");
}

TEST_F(ProgramBuilderTest, NamesShapesThatDoNotBroadcast) {
  const auto sum =
      builder_.AddElementwise(ScalarOp::kAdd, {In(T::kFloat32, {2}), In(T::kFloat32, {3})});
  EXPECT_EQ(sum.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(sum.status().message()), HasSubstr("add: shapes [2] and [3]"));
}

TEST_F(ProgramBuilderTest, GivesResultTypes) {
  const ValueId i8 = In(T::kInt8, {});
  const ValueId f16 = In(T::kFloat16, {});
  const ValueId b = In(T::kBool, {});
  EXPECT_EQ(TypeOf(ScalarOp::kDiv, {i8, i8}), T::kInt8);
  EXPECT_EQ(TypeOf(ScalarOp::kMul, {i8, f16}), T::kFloat16);
  EXPECT_EQ(TypeOf(ScalarOp::kAdd, {i8, b}), T::kInt8);
  EXPECT_EQ(TypeOf(ScalarOp::kExp, {i8}), T::kFloat32);
  EXPECT_EQ(TypeOf(ScalarOp::kExp, {f16}), T::kFloat16);
  EXPECT_EQ(TypeOf(ScalarOp::kNeg, {i8}), T::kInt8);
  EXPECT_EQ(TypeOf(ScalarOp::kLess, {i8, f16}), T::kBool);
  EXPECT_EQ(TypeOf(ScalarOp::kLogicalNot, {f16}), T::kBool);
  EXPECT_EQ(TypeOf(ScalarOp::kIsNan, {i8}), T::kBool);
  EXPECT_EQ(TypeOf(ScalarOp::kSelect, {f16, i8, b}), T::kInt8);
}

TEST_F(ProgramBuilderTest, RefusesFunctionsThatDoNotExistForTheType) {
  const ValueId f = In(T::kFloat32, {});
  const ValueId b = In(T::kBool, {});
  EXPECT_FALSE(builder_.AddElementwise(ScalarOp::kBitAnd, {f, f}).ok());
  EXPECT_FALSE(builder_.AddElementwise(ScalarOp::kShiftLeft, {b, b}).ok());
  EXPECT_FALSE(builder_.AddElementwise(ScalarOp::kAdd, {f}).ok());
  EXPECT_FALSE(builder_.AddElementwise(ScalarOp::kCast, {f}).ok());
  EXPECT_TRUE(builder_.AddElementwise(ScalarOp::kBitXor, {b, b}).ok());
}

TEST_F(ProgramBuilderTest, FoldsLiterals) {
  const ValueId two = builder_.AddConstant(int64_t{2});
  const ValueId half = builder_.AddConstant(0.5);
  const auto product = builder_.AddElementwise(ScalarOp::kMul, {two, half});
  EXPECT_EQ(std::get<double>(Literal(product).value), 1.0);
  EXPECT_TRUE(Literal(product).weak);
  const auto sum = builder_.AddElementwise(ScalarOp::kAdd, {two, two});
  EXPECT_EQ(std::get<int64_t>(Literal(sum).value), 4);
  const auto less = builder_.AddElementwise(ScalarOp::kLess, {two, half});
  EXPECT_EQ(builder_.shape(*less).type, T::kBool);
  EXPECT_FALSE(Literal(less).weak);
}

TEST_F(ProgramBuilderTest, FoldsInTheTypeOfTypedLiterals) {
  const ValueId byte = builder_.AddConstant(T::kInt8, 100);
  const auto sum =
      builder_.AddElementwise(ScalarOp::kAdd, {byte, builder_.AddConstant(int64_t{100})});
  EXPECT_EQ(builder_.shape(*sum).type, T::kInt8);
  EXPECT_EQ(std::get<int64_t>(Literal(sum).value), -56);
  EXPECT_FALSE(Literal(sum).weak);
}

TEST_F(ProgramBuilderTest, CastsLiteralsWithoutAnOperation) {
  const int64_t large = (int64_t{1} << 62) + 1;
  const auto cast = builder_.AddCast(builder_.AddConstant(large), T::kInt64);
  EXPECT_EQ(std::get<int64_t>(Literal(cast).value), large);
  const auto half = builder_.AddCast(builder_.AddConstant(2049.0), T::kFloat16);
  EXPECT_EQ(std::get<double>(Literal(half).value), 2048.0);
  EXPECT_EQ(std::get<double>(Literal(builder_.AddConstant(T::kFloat32, 0.1)).value), 0.1f);
}

TEST_F(ProgramBuilderTest, MakesEachLiteralOnce) {
  EXPECT_EQ(builder_.AddConstant(0.5), builder_.AddConstant(0.5));
  EXPECT_NE(builder_.AddConstant(0.0), builder_.AddConstant(-0.0));
  EXPECT_EQ(builder_.AddConstant(NAN), builder_.AddConstant(NAN));
  EXPECT_NE(builder_.AddConstant(1.0), builder_.AddConstant(T::kFloat32, 1.0));
  EXPECT_NE(builder_.AddConstant(1.0), builder_.AddConstant(int64_t{1}));
}

TEST_F(ProgramBuilderTest, LargeLiteralsAreInt64) {
  EXPECT_EQ(builder_.shape(builder_.AddConstant(int64_t{1} << 31)).type, T::kInt64);
  EXPECT_EQ(builder_.shape(builder_.AddConstant(int64_t{-5})).type, T::kInt32);
}

Contraction Sum(ValueId tensor, std::vector<math::Affine> indices, int index_count) {
  Contraction contraction;
  for (int i = 0; i < index_count; ++i) contraction.index_names.push_back(std::string(1, 'i' + i));
  contraction.output.indices = {math::Affine::Variable(0)};
  contraction.inputs = {{tensor, std::move(indices)}};
  return contraction;
}

TEST_F(ProgramBuilderTest, ChecksContractions) {
  const ValueId x = In(T::kFloat32, {2, 3});
  const math::Affine i = math::Affine::Variable(0);
  const math::Affine j = math::Affine::Variable(1);
  EXPECT_TRUE(builder_.AddContraction(Sum(x, {i, j}, 2), {2}).ok());
  EXPECT_FALSE(builder_.AddContraction(Sum(x, {i}, 2), {2}).ok());        // rank of the input
  EXPECT_FALSE(builder_.AddContraction(Sum(x, {i, j}, 2), {2, 2}).ok());  // rank of the output
  EXPECT_FALSE(builder_.AddContraction(Sum(x, {i, j}, 1), {2}).ok());     // variable without name
  EXPECT_FALSE(builder_.AddContraction(Sum(x, {i, j}, 2), {-1}).ok());
  Contraction two_inputs = Sum(x, {i, j}, 2);
  two_inputs.combination = Combination::kMultiply;
  EXPECT_FALSE(builder_.AddContraction(two_inputs, {2}).ok());
  Contraction with_default = Sum(x, {i, j}, 2);
  with_default.default_value = In(T::kFloat32, {3});
  EXPECT_FALSE(builder_.AddContraction(with_default, {2}).ok());
  with_default.default_value = In(T::kInt32, {2});
  EXPECT_FALSE(builder_.AddContraction(with_default, {2}).ok());
  with_default.default_value = In(T::kFloat32, {2});
  EXPECT_TRUE(builder_.AddContraction(with_default, {2}).ok());
}

TEST_F(ProgramBuilderTest, BuildRemovesWhatNoOutputNeeds) {
  const ValueId x = In(T::kFloat32, {2});
  const ValueId unused_input = In(T::kFloat32, {2});
  ASSERT_TRUE(builder_.AddElementwise(ScalarOp::kExp, {unused_input}).ok());
  const ValueId kept = *builder_.AddElementwise(ScalarOp::kNeg, {x}, "Kept");
  builder_.AddOutput(kept, "O");
  const auto program = std::move(builder_).Build();
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_EQ(program->values.size(), 3u);  // both inputs stay
  EXPECT_EQ(program->values[program->outputs[0]].name, "Kept");
  EXPECT_EQ(Operands(program->values[2].op), std::vector<ValueId>{0});
}

TEST_F(ProgramBuilderTest, TheFirstNameStays) {
  const ValueId x = *builder_.AddElementwise(ScalarOp::kNeg, {In(T::kFloat32, {})});
  builder_.SetName(x, "First");
  builder_.SetName(x, "Second");
  EXPECT_EQ(builder_.program().values[x].name, "First");
}

TEST_F(ProgramBuilderTest, CountsUses) {
  const ValueId x = In(T::kFloat32, {});
  const ValueId square = *builder_.AddElementwise(ScalarOp::kMul, {x, x});
  builder_.AddOutput(square, "O");
  builder_.AddOutput(square, "P");
  EXPECT_EQ(UseCounts(builder_.program()), (std::vector<int>{2, 2}));
}

}  // namespace
}  // namespace tartan::ir
