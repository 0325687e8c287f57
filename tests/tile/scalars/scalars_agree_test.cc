// SPDX-License-Identifier: Apache-2.0
// Tests every scalar operation on every type, with values on which programming languages differ.
// The naive evaluator, constant folding, the loop interpreter and size arithmetic agree bit for
// bit. tests/backend_opencl/dialect/scalar_ops_test.cc tests devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "every_operation.h"
#include "special_values.h"
#include "tile/base/host_tensor.h"
#include "tile/base/scalar_value.h"
#include "tile/ir/fold.h"
#include "tile/ir/naive_evaluator.h"
#include "tile/ir/program_builder.h"
#include "tile/ir/type_rules.h"
#include "tile/lang/compile_time.h"
#include "tile/loop/interpret.h"

namespace tartan {
namespace {

constexpr DataType kTypes[] = {DataType::kBool,    DataType::kInt8,     DataType::kInt16,
                               DataType::kInt32,   DataType::kInt64,    DataType::kUInt8,
                               DataType::kUInt16,  DataType::kUInt32,   DataType::kUInt64,
                               DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32,
                               DataType::kFloat64};

// An element of any type, as constants store it.
using Number = std::variant<int64_t, double>;

Number ElementOf(const HostTensor& tensor, int64_t i) {
  if (IsFloat(tensor.shape().type)) return tensor.GetDouble(i);
  return tensor.GetInt(i);
}

std::string ToText(const Number& number) {
  const auto* integer = std::get_if<int64_t>(&number);
  return integer != nullptr ? absl::StrCat(*integer)
                            : absl::StrFormat("%.17g", std::get<double>(number));
}

// Compares kinds and bits; any NaN equals any other NaN.
bool IsSame(const Number& a, const Number& b) {
  if (a.index() != b.index()) return false;
  if (std::holds_alternative<int64_t>(a)) return a == b;
  const double x = std::get<double>(a);
  const double y = std::get<double>(b);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
}

HostTensor AsTensor(DataType type, const std::vector<uint8_t>& bytes) {
  return HostTensor({type, {static_cast<int64_t>(bytes.size()) / ByteWidth(type)}}, bytes);
}

HostTensor First(const absl::StatusOr<std::vector<HostTensor>>& outputs) {
  EXPECT_EQ(outputs.status().message(), "");
  return outputs.ok() ? outputs->front() : HostTensor();
}

// Applies the operation to all pairs with the naive evaluator; a selection uses a < b.
HostTensor Naively(ScalarOp op, const HostTensor& a, const HostTensor& b) {
  ir::ProgramBuilder builder;
  const ir::ValueId x = builder.AddInput("X", a.shape()).value();
  const ir::ValueId y = builder.AddInput("Y", b.shape()).value();
  std::vector<ir::ValueId> operands = {x, y};
  if (OperandCount(op) == 1) operands.pop_back();
  if (op == ScalarOp::kSelect) {
    operands.insert(operands.begin(), builder.AddElementwise(ScalarOp::kLess, {x, y}).value());
  }
  builder.AddOutput(builder.AddElementwise(op, operands).value(), "O");
  return First(EvaluateNaively(std::move(builder).Build().value(), {a, b}));
}

ir::Literal Folded(ScalarOp op, const ir::Literal& a, const ir::Literal& b) {
  std::vector<ir::Literal> operands = {a, b};
  if (OperandCount(op) == 1) operands.pop_back();
  if (op == ScalarOp::kSelect) {
    operands.insert(operands.begin(), ir::FoldLiterals(ScalarOp::kLess, {a, b}));
  }
  return ir::FoldLiterals(op, operands);
}

// Reports up to four differences; `what` returns the text of the operation.
class Differences {
 public:
  template <class What>
  void Expect(const Number& expected, const Number& actual, const What& what) {
    if (IsSame(expected, actual) || ++count_ > 4) return;
    ADD_FAILURE() << what() << " is " << ToText(actual) << " instead of " << ToText(expected);
  }

 private:
  int count_ = 0;
};

std::string Call(ScalarOp op, const HostTensor& a, const HostTensor& b, int64_t i) {
  const std::string second =
      OperandCount(op) == 1 ? "" : absl::StrCat(", ", ToText(ElementOf(b, i)));
  return absl::StrCat(Name(op), "(", ToText(ElementOf(a, i)), second, ") of ",
                      Name(a.shape().type));
}

class Scalars : public testing::TestWithParam<DataType> {
 protected:
  Scalars()
      : pairs_(SpecialPairs(GetParam())),
        a_(AsTensor(GetParam(), pairs_.first)),
        b_(AsTensor(GetParam(), pairs_.second)) {}

  const Pairs pairs_;
  const HostTensor a_, b_;
};

TEST_P(Scalars, AreFoldedToWhatTheNaiveEvaluatorGives) {
  const DataType type = GetParam();
  for (const ScalarOp op : DefinedOps(ComputeType(type))) {
    const HostTensor expected = Naively(op, a_, b_);
    const DataType result = expected.shape().type;
    Differences differences;
    for (int64_t i = 0; i < expected.element_count(); ++i) {
      const ir::Literal a{type, {ElementOf(a_, i), false}};
      const ir::Literal b{type, {ElementOf(b_, i), false}};
      const ir::Literal folded = Folded(op, a, b);
      // 16-bit floats are rounded when they are stored.
      const Number stored = ir::ConvertLiteral(folded, result).constant.value;
      differences.Expect(ElementOf(expected, i), stored, [&] { return Call(op, a_, b_, i); });
    }
  }
}

TEST_P(Scalars, AreInLoopsWhatTheNaiveEvaluatorGives) {
  const DataType type = GetParam();
  if (ComputeType(type) != type) return;  // computed as float32
  const std::vector<ScalarOp> ops = DefinedOps(type);
  const int64_t count = a_.element_count();
  const loop::Kernel kernel = MakeOpsKernel(type, 1, count, ops);
  std::vector<std::vector<uint8_t>> buffers = {pairs_.first, pairs_.second};
  buffers.emplace_back(pairs_.first.size() * ops.size());
  buffers.emplace_back(count * ops.size());
  ASSERT_EQ(Interpret(kernel, absl::MakeSpan(buffers)).message(), "");
  const HostTensor values = AsTensor(type, buffers[2]);
  const HostTensor truths = AsTensor(DataType::kBool, buffers[3]);
  for (size_t row = 0; row < ops.size(); ++row) {
    const HostTensor expected = Naively(ops[row], a_, b_);
    ASSERT_EQ(expected.shape().type, ReturnsBool(ops[row]) ? DataType::kBool : type) << ops[row];
    Differences differences;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = static_cast<int64_t>(row) * count + i;
      differences.Expect(ElementOf(expected, i),
                         ElementOf(ReturnsBool(ops[row]) ? truths : values, place),
                         [&] { return Call(ops[row], a_, b_, i); });
    }
  }
}

TEST_P(Scalars, ExistInLoopsForTheTypesThatProgramsHaveThemFor) {
  const DataType type = GetParam();
  if (ComputeType(type) != type) return;
  const std::vector<ScalarOp> defined = DefinedOps(type);
  for (int i = 0; i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    if (op == ScalarOp::kIdentity || op == ScalarOp::kCast || op == ScalarOp::kSelect) continue;
    // Programs cast the operands of logical operations to bool.
    const std::vector<ir::OperandInfo> operands(OperandCount(op), ir::OperandInfo{type, false});
    const absl::StatusOr<DataType> computed = ir::ElementwiseType(op, operands);
    EXPECT_EQ(std::count(defined.begin(), defined.end(), op) == 1,
              computed.ok() && *computed == type)
        << op << " of " << type;
  }
}

// Tests casts to every type.
TEST_P(Scalars, AreCastToWhatLiteralsAre) {
  const HostTensor from = AsTensor(GetParam(), SpecialBuffer(GetParam()));
  for (const DataType to : kTypes) {
    ir::ProgramBuilder builder;
    const ir::ValueId x = builder.AddInput("X", from.shape()).value();
    builder.AddOutput(builder.AddCast(x, to).value(), "O");
    const HostTensor expected = First(EvaluateNaively(std::move(builder).Build().value(), {from}));
    Differences differences;
    for (int64_t i = 0; i < from.element_count(); ++i) {
      const ir::Literal literal{from.shape().type, {ElementOf(from, i), false}};
      differences.Expect(ElementOf(expected, i), ir::ConvertLiteral(literal, to).constant.value,
                         [&] {
                           return absl::StrCat(ToText(ElementOf(from, i)), " of ", Name(GetParam()),
                                               " as ", Name(to));
                         });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, Scalars, testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(Name(info.param)); });

// Sizes and constants are exact integers at compile time. If their arithmetic yields a value, the
// program would compute the same one.
class CompileTime : public testing::TestWithParam<DataType> {};

lang::CompileTimeScalar AsCompileTime(const HostTensor& tensor, int64_t i) {
  return {ElementOf(tensor, i), tensor.shape().type == DataType::kBool};
}

ir::Literal AsLiteral(DataType type, const HostTensor& tensor, int64_t i) {
  return {type, {ElementOf(tensor, i), type != DataType::kBool}};
}

// Bools count as integers if the other operand is a number, and in functions of reals.
DataType MeantType(ScalarOp op, const HostTensor& x, const HostTensor& other) {
  const bool is_number = IsFloatFunction(op) || other.shape().type != DataType::kBool;
  return x.shape().type == DataType::kBool && is_number ? DataType::kInt64 : x.shape().type;
}

void ExpectSameAtCompileTime(ScalarOp op, const HostTensor& a, const HostTensor& b) {
  const DataType first = MeantType(op, a, OperandCount(op) == 1 ? a : b);
  const DataType second = MeantType(op, b, a);
  Differences differences;
  for (int64_t i = 0; i < a.element_count(); ++i) {
    std::vector<lang::CompileTimeScalar> operands = {AsCompileTime(a, i), AsCompileTime(b, i)};
    std::vector<ir::OperandInfo> infos = {{first, true}, {second, true}};
    if (OperandCount(op) == 1) {
      operands.pop_back();
      infos.pop_back();
    }
    const auto result = lang::FoldCall(Name(op), operands);
    if (!result.ok() || !result->has_value()) continue;
    const auto what = [&] {
      return absl::StrCat(Call(op, a, b, i), " and ", Name(b.shape().type), " at compile time");
    };
    ASSERT_TRUE(ir::ElementwiseType(op, infos).ok()) << what();
    const ir::Literal literal = Folded(op, AsLiteral(first, a, i), AsLiteral(second, b, i));
    differences.Expect(literal.constant.value, (*result)->value, what);
    EXPECT_EQ((*result)->is_bool, literal.type == DataType::kBool) << what();
  }
}

TEST_P(CompileTime, NumbersAreThoseOfThePrograms) {
  for (const DataType second : {DataType::kBool, DataType::kInt64, DataType::kFloat64}) {
    const HostTensor first = AsTensor(GetParam(), SpecialBuffer(GetParam()));
    const HostTensor other = AsTensor(second, SpecialBuffer(second));
    std::vector<uint8_t> a_bytes, b_bytes;
    for (int64_t i = 0; i < first.element_count(); ++i) {
      for (int64_t j = 0; j < other.element_count(); ++j) {
        const uint8_t* x = first.bytes().data() + i * ByteWidth(GetParam());
        const uint8_t* y = other.bytes().data() + j * ByteWidth(second);
        a_bytes.insert(a_bytes.end(), x, x + ByteWidth(GetParam()));
        b_bytes.insert(b_bytes.end(), y, y + ByteWidth(second));
      }
    }
    const HostTensor a = AsTensor(GetParam(), a_bytes);
    const HostTensor b = AsTensor(second, b_bytes);
    for (int i = 0; i < kScalarOpCount; ++i) {
      const auto op = static_cast<ScalarOp>(i);
      if (OperandCount(op) < 3 && op != ScalarOp::kCast) ExpectSameAtCompileTime(op, a, b);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryKind, CompileTime,
                         testing::Values(DataType::kBool, DataType::kInt64, DataType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace tartan
