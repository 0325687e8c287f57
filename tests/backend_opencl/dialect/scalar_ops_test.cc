// Every scalar operation, on every type and on the values where languages differ: the OpenCL
// device against the interpreter.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "opencl_runner.h"
#include "special_values.h"
#include "tile/sem/build.h"
#include "tile/sem/interpret.h"
#include "tile/sem/scalar_value.h"

namespace tartan::opencl {
namespace {

using namespace sem;  // NOLINT: builders

constexpr DataType kComputed[] = {DataType::kBool,    DataType::kInt8,   DataType::kInt16,
                                  DataType::kInt32,   DataType::kInt64,  DataType::kUInt8,
                                  DataType::kUInt16,  DataType::kUInt32, DataType::kUInt64,
                                  DataType::kFloat32, DataType::kFloat64};
constexpr DataType kStored[] = {DataType::kBool,    DataType::kInt8,     DataType::kInt16,
                                DataType::kInt32,   DataType::kInt64,    DataType::kUInt8,
                                DataType::kUInt16,  DataType::kUInt32,   DataType::kUInt64,
                                DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32,
                                DataType::kFloat64};

// The OpenCL specification's bounds on single precision, with the rounding of both sides.
double AllowedUlps(ScalarOp op) {
  switch (op) {
    case ScalarOp::kDiv:
    case ScalarOp::kRecip:
    case ScalarOp::kSqrt:
      return 3;
    case ScalarOp::kPow:
    case ScalarOp::kErf:
      return 17;
    case ScalarOp::kAtan2:
    case ScalarOp::kTan:
    case ScalarOp::kTanh:
    case ScalarOp::kSigmoid:
      return 7;
    default:
      return IsFloatFunction(op) ? 5 : 0;
  }
}

std::vector<ScalarOp> DefinedOps(DataType type) {
  std::vector<ScalarOp> ops;
  for (int i = 0; i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    if (op != ScalarOp::kIdentity && op != ScalarOp::kCast && IsDefined(op, type)) {
      ops.push_back(op);
    }
  }
  return ops;
}

// For work-item i and every operation: results[op][i * lanes …] = op(a[i * lanes …], b[…]).
Kernel MakeOpsKernel(DataType type, int lanes, int64_t count) {
  Kernel kernel;
  kernel.name = absl::StrCat("ops_", Name(type), "_", lanes);
  kernel.parameters = {
      {"a", type}, {"b", type}, {"values", type, true}, {"truths", DataType::kBool, true}};
  kernel.global_size[0] = count / lanes;
  const Type index{DataType::kInt32, 1};
  const ExprPtr i = Var("i", index);
  const ExprPtr a = Var("x", Type{type, lanes});
  const ExprPtr b = Var("z", Type{type, lanes});
  std::vector<StmtPtr> body = {MakeDeclare(index, "i", Mul(Work(WorkId::kGlobal, 0), Int(lanes))),
                               MakeDeclare(a->type, "x", LoadFrom("a", type, i, lanes)),
                               MakeDeclare(b->type, "z", LoadFrom("b", type, i, lanes))};
  int64_t row = 0;
  for (ScalarOp op : DefinedOps(type)) {
    std::vector<ExprPtr> operands = {a, b};
    if (OperandCount(op) == 1) operands.pop_back();
    if (op == ScalarOp::kSelect) operands.insert(operands.begin(), Less(a, b));
    const ExprPtr result = ApplyOp(op, std::move(operands));
    const ExprPtr place = Add(i, Int(row++ * count));
    if (!ReturnsBool(op)) {
      body.push_back(MakeStore("values", type, place, result));
    } else if (lanes == 1) {
      body.push_back(MakeStore("truths", DataType::kBool, place, result));
    } else {
      body.push_back(MakeStore("values", type, place, Cast(result, type)));
    }
  }
  kernel.body = MakeBlock(std::move(body));
  return kernel;
}

void ExpectSameResults(DataType type, int lanes) {
  const Pairs pairs = SpecialPairs(type);
  const int64_t count = static_cast<int64_t>(pairs.first.size()) / ByteWidth(type);
  const Kernel kernel = MakeOpsKernel(type, lanes, count);
  const std::vector<ScalarOp> ops = DefinedOps(type);
  std::vector<std::vector<uint8_t>> expected = {pairs.first, pairs.second};
  expected.emplace_back(pairs.first.size() * ops.size());
  expected.emplace_back(count * ops.size());
  auto actual = expected;
  ASSERT_EQ(Interpret(kernel, absl::MakeSpan(expected)).message(), "");
  OpenClRunner runner({&kernel, 1});
  ASSERT_EQ(runner.Run(kernel, absl::MakeSpan(actual)).message(), "");
  for (size_t row = 0; row < ops.size(); ++row) {
    const bool truth = ReturnsBool(ops[row]) && lanes == 1;
    const int part = truth ? 3 : 2;
    int failures = 0;
    for (int64_t i = 0; i < count && failures < 4; ++i) {
      const std::string difference =
          Difference(truth ? DataType::kBool : type, expected[part], actual[part],
                     static_cast<int64_t>(row) * count + i, AllowedUlps(ops[row]));
      if (difference.empty()) continue;
      ++failures;
      ADD_FAILURE() << ops[row] << " of " << type << "x" << lanes << ", pair "
                    << i / static_cast<int64_t>(std::sqrt(count)) << ", "
                    << i % static_cast<int64_t>(std::sqrt(count)) << ": " << difference;
    }
  }
}

class ScalarOps : public testing::TestWithParam<DataType> {};

TEST_P(ScalarOps, GiveTheNumbersOfTheInterpreter) { ExpectSameResults(GetParam(), 1); }

// From one stored type to all others, scalars and vectors.
TEST_P(ScalarOps, ConvertToEveryType) {
  const DataType from = GetParam();
  const std::vector<uint8_t> input = SpecialBuffer(from);
  const int64_t count = static_cast<int64_t>(input.size()) / ByteWidth(from);
  const int vector_lanes = from == DataType::kBool ? 1 : 4;
  Kernel kernel;
  kernel.name = "convert";
  kernel.parameters = {{"x", from}};
  kernel.global_size[0] = count / 4;
  const ExprPtr i = Mul(Work(WorkId::kGlobal, 0), Int(4));
  std::vector<StmtPtr> body;
  std::vector<std::vector<uint8_t>> expected = {input};
  for (DataType to : kStored) {
    const std::string name = absl::StrCat("to_", Name(to));
    kernel.parameters.push_back({name, to, true});
    expected.emplace_back(2 * count * ByteWidth(to));
    for (int lane = 0; lane < 4; ++lane) {
      const ExprPtr index = Add(i, Int(lane));
      body.push_back(MakeStore(name, to, index, Cast(LoadFrom("x", from, index), ComputeType(to))));
    }
    if (to == DataType::kBool || vector_lanes == 1) continue;
    const ExprPtr vector = Cast(LoadFrom("x", from, i, vector_lanes), ComputeType(to));
    body.push_back(MakeStore(name, to, Add(i, Int(count)), vector));
  }
  kernel.body = MakeBlock(std::move(body));
  auto actual = expected;
  ASSERT_EQ(Interpret(kernel, absl::MakeSpan(expected)).message(), "");
  OpenClRunner runner({&kernel, 1});
  ASSERT_EQ(runner.Run(kernel, absl::MakeSpan(actual)).message(), "");
  for (size_t k = 0; k < std::size(kStored); ++k) {
    for (int64_t j = 0; j < 2 * count; ++j) {
      EXPECT_EQ(Difference(kStored[k], expected[k + 1], actual[k + 1], j, 0), "")
          << from << " to " << kStored[k] << ", element " << j;
    }
  }
}

class VectorOps : public testing::TestWithParam<DataType> {};

TEST_P(VectorOps, GiveTheNumbersOfTheInterpreter) { ExpectSameResults(GetParam(), 4); }

INSTANTIATE_TEST_SUITE_P(EveryWidth, VectorOps,
                         testing::Values(DataType::kUInt8, DataType::kInt32, DataType::kFloat32,
                                         DataType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });
INSTANTIATE_TEST_SUITE_P(EveryType, ScalarOps, testing::ValuesIn(kComputed),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace tartan::opencl
