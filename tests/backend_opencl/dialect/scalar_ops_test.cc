// SPDX-License-Identifier: Apache-2.0
// Every scalar operation for every type, on the device and in the interpreter, with values for
// which languages differ.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "every_operation.h"
#include "opencl_runner.h"
#include "special_values.h"
#include "tile/base/scalar_value.h"
#include "tile/loop/build.h"
#include "tile/loop/interpret.h"

namespace tartan::opencl {
namespace {

using namespace loop;  // NOLINT: builders

constexpr DataType kComputed[] = {DataType::kBool,    DataType::kInt8,   DataType::kInt16,
                                  DataType::kInt32,   DataType::kInt64,  DataType::kUInt8,
                                  DataType::kUInt16,  DataType::kUInt32, DataType::kUInt64,
                                  DataType::kFloat32, DataType::kFloat64};
constexpr DataType kStored[] = {DataType::kBool,    DataType::kInt8,     DataType::kInt16,
                                DataType::kInt32,   DataType::kInt64,    DataType::kUInt8,
                                DataType::kUInt16,  DataType::kUInt32,   DataType::kUInt64,
                                DataType::kFloat16, DataType::kBFloat16, DataType::kFloat32,
                                DataType::kFloat64};

// The error bounds of the OpenCL specification for single precision, plus the rounding of both
// sides.
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

// Returns a text such as "of 1 and 2: ".
std::string Operands(DataType type, const Pairs& pairs, int64_t i) {
  const auto text = [&](const std::vector<uint8_t>& buffer) { return ToText(type, buffer, i); };
  return absl::StrCat("of ", text(pairs.first), " and ", text(pairs.second), ": ");
}

void ExpectSameResults(const Kernel& kernel, absl::Span<const ScalarOp> ops, DataType type,
                       int lanes, const Pairs& pairs, OpenClRunner* runner) {
  const int64_t count = static_cast<int64_t>(pairs.first.size()) / ByteWidth(type);
  std::vector<std::vector<uint8_t>> expected = {pairs.first, pairs.second};
  expected.emplace_back(pairs.first.size() * ops.size());
  expected.emplace_back(count * ops.size());
  auto actual = expected;
  ASSERT_EQ(Interpret(kernel, absl::MakeSpan(expected)).message(), "");
  ASSERT_EQ(runner->Run(kernel, absl::MakeSpan(actual)).message(), "");
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
      ADD_FAILURE() << ops[row] << " of " << type << "x" << lanes << ", element " << i << ": "
                    << Operands(type, pairs, i) << difference;
    }
  }
}

// Compares all operations in one kernel.
void ExpectSameResults(DataType type, int lanes, const Pairs& pairs) {
  const std::vector<ScalarOp> ops = DefinedOps(type);
  const int64_t count = static_cast<int64_t>(pairs.first.size()) / ByteWidth(type);
  const Kernel kernel = MakeOpsKernel(type, lanes, count, ops);
  OpenClRunner runner({&kernel, 1});
  ExpectSameResults(kernel, ops, type, lanes, pairs, &runner);
}

class ScalarOps : public testing::TestWithParam<DataType> {};

TEST_P(ScalarOps, GiveTheNumbersOfTheInterpreter) {
  ExpectSameResults(GetParam(), 1, SpecialPairs(GetParam()));
}

// Converts each stored type to all others, as scalars and vectors.
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

TEST_P(VectorOps, GiveTheNumbersOfTheInterpreter) {
  ExpectSameResults(GetParam(), 4, SpecialPairs(GetParam()));
}

// A constant is an int in C, even as an operand of a vector.
TEST_P(VectorOps, TakeNumbersBesideVectors) {
  const DataType type = GetParam();
  std::vector<ScalarOp> ops;
  for (const ScalarOp op : DefinedOps(type)) {
    if (OperandCount(op) == 2) ops.push_back(op);
  }
  const Pairs pairs = SpecialPairs(type);
  const int64_t count = static_cast<int64_t>(pairs.first.size()) / ByteWidth(type);
  const ExprPtr number = IsFloat(type) ? Float(3, type) : Int(3, type);
  const Kernel kernel = MakeOpsKernel(type, 4, count, ops, number);
  OpenClRunner runner({&kernel, 1});
  ExpectSameResults(kernel, ops, type, 4, pairs, &runner);
}

TEST_P(VectorOps, BecomeTruths) {
  const DataType type = GetParam();
  const Pairs pairs = SpecialPairs(type);
  const int64_t count = static_cast<int64_t>(pairs.first.size()) / ByteWidth(type);
  Kernel kernel;
  kernel.name = "truths";
  kernel.parameters = {{"x", type}, {"y", type, true}};
  kernel.global_size[0] = count / 4;
  const ExprPtr i = Mul(Work(WorkId::kGlobal, 0), Int(4));
  const ExprPtr truth = Cast(LoadFrom("x", type, i, 4), DataType::kBool);
  kernel.body = MakeStore("y", type, i, Cast(truth, type));
  std::vector<std::vector<uint8_t>> expected = {pairs.first, pairs.first};
  auto actual = expected;
  ASSERT_EQ(Interpret(kernel, absl::MakeSpan(expected)).message(), "");
  OpenClRunner runner({&kernel, 1});
  ASSERT_EQ(runner.Run(kernel, absl::MakeSpan(actual)).message(), "");
  for (int64_t j = 0; j < count; ++j) {
    EXPECT_EQ(Difference(type, expected[1], actual[1], j, 0), "") << type << ", element " << j;
  }
}

struct LanesCase {
  DataType type;
  int lanes;
};

class Lanes : public testing::TestWithParam<LanesCase> {};

// The result in one lane must not depend on other lanes, although drivers choose one code path for
// all lanes.
TEST_P(Lanes, DoNotDisturbEachOther) {
  const auto [type, lanes] = GetParam();
  const Pairs pairs = SpecialAmongOrdinary(type, lanes);
  const int64_t count = static_cast<int64_t>(pairs.first.size()) / ByteWidth(type);
  const std::vector<ScalarOp> ops = DefinedOps(type);
  // One kernel per operation: PoCL takes minutes for all of them in one kernel.
  std::vector<Kernel> kernels;
  for (const ScalarOp& op : ops) kernels.push_back(MakeOpsKernel(type, lanes, count, {&op, 1}));
  OpenClRunner runner(kernels);
  for (size_t i = 0; i < ops.size(); ++i) {
    ExpectSameResults(kernels[i], {&ops[i], 1}, type, lanes, pairs, &runner);
  }
}

// True if a * b or b * b overflows float32 for finite operands.
bool IsOverflow(const Pairs& pairs, int64_t place) {
  float a = 0, b = 0;
  std::memcpy(&a, pairs.first.data() + 4 * place, sizeof(a));
  std::memcpy(&b, pairs.second.data() + 4 * place, sizeof(b));
  const bool is_finite = std::isfinite(a) && std::isfinite(b);
  return is_finite && (!std::isfinite(a * b) || !std::isfinite(b * b));
}

class PairsOfFloats : public testing::TestWithParam<int> {};

// Checks packed words bit by bit, and dot operations on special values with an addend.
TEST_P(PairsOfFloats, GiveTheNumbersOfTheInterpreter) {
  const int lanes = GetParam();
  const Pairs pairs = SpecialAmongOrdinary(DataType::kFloat32, lanes);
  const int64_t count = static_cast<int64_t>(pairs.first.size() / sizeof(float));
  Kernel kernel;
  kernel.name = "pairs";
  kernel.parameters = {{"a", DataType::kFloat32},
                       {"b", DataType::kFloat32},
                       {"words", DataType::kInt32, true},
                       {"sums", DataType::kFloat32, true}};
  kernel.global_size[0] = count / lanes;
  const ExprPtr i = Mul(Work(WorkId::kGlobal, 0), Int(lanes));
  const ExprPtr a = Var("x", Type{DataType::kFloat32, lanes});
  const ExprPtr b = Var("y", a->type);
  const ExprPtr word = Var("word", Type{DataType::kInt32, lanes});
  const ExprPtr turned = Var("turned", word->type);
  kernel.body =
      MakeBlock({MakeDeclare(a->type, "x", LoadFrom("a", DataType::kFloat32, i, lanes)),
                 MakeDeclare(b->type, "y", LoadFrom("b", DataType::kFloat32, i, lanes)),
                 MakeDeclare(word->type, "word", ApplyOp(ScalarOp::kPairBFloat16, {a, b})),
                 MakeDeclare(word->type, "turned", ApplyOp(ScalarOp::kPairBFloat16, {b, b})),
                 MakeStore("words", DataType::kInt32, i, word),
                 MakeStore("sums", DataType::kFloat32, i,
                           Add(a, ApplyOp(ScalarOp::kDotBFloat16, {word, turned})))});
  std::vector<std::vector<uint8_t>> expected = {pairs.first, pairs.second, pairs.first,
                                                pairs.first};
  auto actual = expected;
  ASSERT_EQ(Interpret(kernel, absl::MakeSpan(expected)).message(), "");
  OpenClRunner runner({&kernel, 1});
  ASSERT_EQ(runner.Run(kernel, absl::MakeSpan(actual)).message(), "");
  const auto is_none = [](const std::vector<uint8_t>& words, int64_t place, int half) {
    uint16_t bits = 0;
    std::memcpy(&bits, words.data() + 4 * place + 2 * half, sizeof(bits));
    return (bits & 0x7fff) > 0x7f80;
  };
  for (int64_t place = 0; place < count; ++place) {
    const std::string operands = Operands(DataType::kFloat32, pairs, place);
    for (int half = 0; half < 2; ++half) {
      const bool none = is_none(expected[2], place, half);
      EXPECT_EQ(is_none(actual[2], place, half), none) << operands;
      if (none) continue;
      const std::string difference =
          Difference(DataType::kInt16, expected[2], actual[2], 2 * place + half, 0);
      EXPECT_EQ(difference, "") << operands;
    }
    // Results beyond the range of float32 are infinite only if intermediate results are rounded.
    if (IsOverflow(pairs, place)) continue;
    EXPECT_EQ(Difference(DataType::kFloat32, expected[3], actual[3], place, 2), "") << operands;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryWidth, PairsOfFloats, testing::Values(1, 2, 4, 8, 16));
INSTANTIATE_TEST_SUITE_P(
    EveryFloat, Lanes,
    testing::Values(LanesCase{DataType::kFloat32, 2}, LanesCase{DataType::kFloat32, 4},
                    LanesCase{DataType::kFloat32, 8}, LanesCase{DataType::kFloat32, 16},
                    LanesCase{DataType::kFloat64, 2}, LanesCase{DataType::kFloat64, 4},
                    LanesCase{DataType::kFloat64, 8}),
    [](const auto& info) { return absl::StrCat(Name(info.param.type), "x", info.param.lanes); });
INSTANTIATE_TEST_SUITE_P(EveryWidth, VectorOps,
                         testing::Values(DataType::kUInt8, DataType::kInt16, DataType::kInt32,
                                         DataType::kFloat32, DataType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });
INSTANTIATE_TEST_SUITE_P(EveryType, ScalarOps, testing::ValuesIn(kComputed),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace tartan::opencl
