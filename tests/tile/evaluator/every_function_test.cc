// SPDX-License-Identifier: Apache-2.0
// Tests every scalar function of Tile on every type. Exact (shape-specialised) kernels, ready
// (dynamic-shape) kernels and the host agree with the naive evaluator, or binding rejects the
// function. Kernels are interpreted; tests/backend_opencl/dialect/scalar_ops_test.cc tests devices.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "every_operation.h"
#include "special_values.h"
#include "tests/tile/compiler/interpret_list.h"
#include "tests/tile/compiler/programs.h"
#include "tile/compiler/compiler.h"
#include "tile/evaluator/host/host_program.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/ir/type_rules.h"
#include "tile/lang/binder.h"
#include "tile/lang/parser.h"

namespace tartan::evaluator::every_function_test {
namespace {

constexpr DataType kTypes[] = {DataType::kBool,    DataType::kInt8,     DataType::kInt16,
                               DataType::kInt32,   DataType::kInt64,    DataType::kUInt8,
                               DataType::kUInt16,  DataType::kUInt32,   DataType::kUInt64,
                               DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32,
                               DataType::kFloat64};

std::vector<ScalarOp> Functions() {
  std::vector<ScalarOp> ops;
  for (int i = 0; i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    if (op != ScalarOp::kCast && !IsOfKernels(op)) ops.push_back(op);
  }
  return ops;
}

// Returns the call of the function with A and B; a selection uses the condition A < B.
std::string Call(ScalarOp op) {
  if (op == ScalarOp::kSelect) return "cond(A < B, A, B)";
  return absl::StrCat(tartan::Name(op), OperandCount(op) == 1 ? "(A)" : "(A, B)");
}

std::string Text(const std::vector<ScalarOp>& ops) {
  std::string outputs, statements;
  for (size_t i = 0; i < ops.size(); ++i) {
    absl::StrAppend(&outputs, i == 0 ? "" : ", ", "O", i);
    absl::StrAppend(&statements, " O", i, " = ", Call(ops[i]), ";");
  }
  return absl::StrCat("function (A, B) -> (", outputs, ") {", statements, " }");
}

// Pads the operand to a number of elements that no vector width divides.
HostTensor Operand(DataType type, std::vector<uint8_t> bytes) {
  const int64_t width = ByteWidth(type);
  int64_t count = static_cast<int64_t>(bytes.size()) / width;
  if (count % 2 == 0) bytes.resize(static_cast<size_t>(--count * width));
  return HostTensor({type, {count}}, bytes);
}

class EveryFunction : public testing::TestWithParam<DataType> {};

TEST_P(EveryFunction, IsTheSameInKernelsAndOnTheHost) {
  const Pairs pairs = SpecialPairs(GetParam());
  const std::vector<HostTensor> inputs = {Operand(GetParam(), pairs.first),
                                          Operand(GetParam(), pairs.second)};
  std::vector<ScalarOp> ops;
  for (const ScalarOp op : Functions()) {
    const std::vector<ir::OperandInfo> operands(OperandCount(op), {GetParam(), false});
    if (ir::ElementwiseType(op, operands).ok()) ops.push_back(op);
  }
  const TestProgram test = {"Functions", Text(ops), {inputs[0].shape(), inputs[1].shape()}};
  const ir::Program program = BindTestProgram(test);
  const auto expected = ir::EvaluateNaively(program, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto compare = [&](const std::vector<HostTensor>& actual, absl::string_view by) {
    ASSERT_EQ(actual.size(), ops.size());
    for (size_t o = 0; o < ops.size(); ++o) {
      EXPECT_EQ(FirstDifference(actual[o], (*expected)[o], 1e-6), "") << ops[o] << " by " << by;
    }
  };
  for (const auto tier : {compiler::Tier::kExact, compiler::Tier::kReady}) {
    for (const int64_t width : {1, 8}) {
      compiler::CompileOptions options;
      options.tier = tier;
      options.settings.vector_width = width;
      const auto list = compiler::Compile(program, options);
      ASSERT_TRUE(list.ok()) << list.status();
      const auto actual = compiler::InterpretList(*list, inputs);
      ASSERT_TRUE(actual.ok()) << actual.status();
      compare(*actual, tier == compiler::Tier::kExact ? "exact kernels" : "ready kernels");
    }
  }
  const auto host = HostProgram::Create(program);
  ASSERT_TRUE(host.ok() && *host != nullptr);
  const auto known = (*host)->Load({});
  ASSERT_TRUE(known.ok());
  const auto actual = (*host)->Run(*known, inputs);
  ASSERT_TRUE(actual.ok()) << actual.status();
  compare(*actual, "the host");
}

// Binding rejects the function before kernels or the host see it.
TEST_P(EveryFunction, IsRefusedByBindingWhereItDoesNotExist) {
  const TensorShape shape{GetParam(), {3}};
  for (const ScalarOp op : Functions()) {
    const std::vector<ir::OperandInfo> operands(OperandCount(op), {GetParam(), false});
    const absl::Status reason = ir::ElementwiseType(op, operands).status();
    const auto function = lang::Parse(Text({op}));
    ASSERT_TRUE(function.ok()) << function.status();
    const absl::Status status =
        lang::Bind(*function, std::vector<TensorShape>{shape, shape}).status();
    EXPECT_EQ(status.code(), reason.code()) << op << ": " << status;
    EXPECT_NE(std::string(status.message()).find(std::string(reason.message())), std::string::npos)
        << status;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, EveryFunction, testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(tartan::Name(info.param)); });

}  // namespace
}  // namespace tartan::evaluator::every_function_test
