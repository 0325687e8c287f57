// SPDX-License-Identifier: Apache-2.0
#include "frontend/api/checked_tensor.h"

#include <limits>

#include "frontend/api/checks/input_check.h"
#include "frontend/api/checks/integer_range.h"
#include "frontend/api/composer.h"
#include "frontend/api/function.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tartan::api {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();

HostTensor Ints(std::vector<int64_t> dims, const std::vector<int64_t>& values) {
  return HostTensor::FromVector(TensorShape{DataType::kInt64, std::move(dims)}, values);
}

Tensor Made(const std::string& text, const std::vector<Tensor>& inputs) {
  const auto made = Apply(text, inputs);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *made : Tensor();
}

Check TenIndices() { return {"take (Gather)", "index", {{-10, 9, "axis 0"}}, std::nullopt, 0}; }

// The message that a device would report for `values`. The naive evaluator computes the status.
std::string Told(const Check& check, const HostTensor& values) {
  const Tensor x = Tensor::Placeholder("x", values.shape());
  const auto status = StatusOf({std::make_shared<const Check>(check), x});
  EXPECT_TRUE(status.ok()) << status.status();
  if (!status.ok()) return "";
  const auto results = EvaluateReference({x}, {values}, {*status}, 1 << 20);
  EXPECT_TRUE(results.ok()) << results.status();
  std::vector<uint64_t> numbers;
  for (int64_t number : results->at(0).ToInts()) numbers.push_back(static_cast<uint64_t>(number));
  return std::string(ReadStatus(check, numbers).message());
}

TEST(Check, TellsTheNumberAndItsBounds) {
  const std::string place = "take (Gather): index ";
  const std::string bounds = " is out of range [-10, 9] of axis 0";
  for (const int64_t value : {int64_t{10}, int64_t{-11}, int64_t{1} << 62, -(int64_t{1} << 62),
                              (int64_t{1} << 32) + 1, kLeast, kGreatest}) {
    const HostTensor values = Ints({2, 2}, {9, -10, value, 0});
    const std::string expected = place + std::to_string(value) + bounds;
    EXPECT_EQ(CheckValues(TenIndices(), values).message(), expected);
    EXPECT_EQ(Told(TenIndices(), values), expected);
  }
}

// Long arrays are checked in blocks.
TEST(Check, OfManyNumbersTellsTheFirstOutOfRange) {
  Check rows = TenIndices();
  rows.bounds = {{-10, 9, "axis 0"}, {-5, 4, "axis 1"}, {0, 2, "axis 2"}};
  rows.exempt = 77;
  std::vector<int64_t> fine(3 * 700);
  for (size_t i = 0; i < fine.size(); ++i) {
    const Bounds& bounds = rows.bounds[i % 3];
    fine[i] = i % 7 == 0 ? 77 : i % 2 == 0 ? bounds.least : bounds.greatest;
  }
  EXPECT_TRUE(CheckValues(rows, Ints({700, 3}, fine)).ok());
  for (const size_t at : {size_t{0}, size_t{255}, size_t{256}, size_t{1000}, fine.size() - 1}) {
    for (const int64_t value : {int64_t{-11}, int64_t{10}, kLeast, kGreatest}) {
      std::vector<int64_t> values = fine;
      values[at] = value;
      values.back() = value;
      const Bounds& bounds = rows.bounds[at % 3];
      EXPECT_EQ(CheckValues(rows, Ints({700, 3}, values)).message(),
                "take (Gather): index " + std::to_string(value) + " is out of range [" +
                    std::to_string(bounds.least) + ", " + std::to_string(bounds.greatest) +
                    "] of axis " + std::to_string(at % 3) + " and is not 77");
    }
  }
  std::vector<uint8_t> bytes(1000, 9);
  const TensorShape shape{DataType::kUInt8, {1000}};
  EXPECT_TRUE(CheckValues(TenIndices(), HostTensor::FromVector(shape, bytes)).ok());
  bytes[600] = 255;
  EXPECT_EQ(CheckValues(TenIndices(), HostTensor::FromVector(shape, bytes)).message(),
            "take (Gather): index 255 is out of range [-10, 9] of axis 0");
}

// Values of up to 32 bits are checked without conversion to 64 bits, provided that the bounds allow
// it.
TEST(Check, OfManyShortNumbersTellsTheFirstOutOfRange) {
  const std::vector<Bounds> all_bounds = {{-10, 9, "axis 0"},
                                          {-1000, 999, "axis 0"},
                                          {0, INT32_MAX, "axis 0"},
                                          {INT32_MIN, 0, "axis 0"},
                                          {-(1 << 30), 1 << 30, "axis 0"},
                                          {-(int64_t{1} << 31), int64_t{1} << 31, "axis 0"},
                                          {-(int64_t{1} << 40), int64_t{1} << 40, "axis 0"}};
  const auto look = [&](DataType type, const auto& values) {
    for (const Bounds& bounds : all_bounds) {
      for (const auto exempt : {std::optional<int64_t>(), std::optional<int64_t>(INT32_MAX),
                                std::optional<int64_t>(int64_t{1} << 32)}) {
        for (const int64_t value : values) {
          using T = typename std::decay_t<decltype(values)>::value_type;
          std::vector<T> numbers(600, T{0});
          numbers[300] = static_cast<T>(value);
          const bool is_fine =
              (value >= bounds.least && value <= bounds.greatest) || value == exempt;
          const Check check = {"", "index", {bounds}, exempt, 0};
          const HostTensor tensor = HostTensor::FromVector(TensorShape{type, {600}}, numbers);
          EXPECT_EQ(CheckValues(check, tensor).ok(), is_fine)
              << value << " in [" << bounds.least << ", " << bounds.greatest << "] and "
              << exempt.value_or(0);
        }
      }
    }
  };
  look(DataType::kInt8, std::vector<int8_t>{-128, -11, -10, -1, 0, 9, 10, 127});
  look(DataType::kUInt8, std::vector<uint8_t>{0, 9, 10, 127, 128, 255});
  look(DataType::kInt16, std::vector<int16_t>{-32768, -1001, -1000, -10, 0, 9, 10, 999, 32767});
  look(DataType::kUInt16, std::vector<uint16_t>{0, 9, 10, 999, 1000, 32768, 65535});
  look(DataType::kInt32,
       std::vector<int32_t>{INT32_MIN, INT32_MIN + 1, -(1 << 30) - 1, -(1 << 30), -11, -10, 0, 9,
                            10, 1 << 30, (1 << 30) + 1, INT32_MAX - 1, INT32_MAX});
  look(DataType::kUInt32, std::vector<uint32_t>{0, 9, 10, 1u << 31, (1u << 31) + 1, UINT32_MAX});
}

TEST(Check, AllowsTheBoundsAndWhatIsExempt) {
  EXPECT_TRUE(CheckValues(TenIndices(), Ints({3}, {9, -10, 0})).ok());
  EXPECT_EQ(Told(TenIndices(), Ints({3}, {9, -10, 0})), "");
  Check check = TenIndices();
  check.exempt = 99;
  EXPECT_TRUE(CheckValues(check, Ints({3}, {9, 99, 0})).ok());
  EXPECT_EQ(Told(check, Ints({3}, {9, 99, 0})), "");
  EXPECT_EQ(Told(check, Ints({3}, {98, 99, 0})),
            "take (Gather): index 98 is out of range [-10, 9] of axis 0 and is not 99");
  EXPECT_EQ(CheckValues(check, Ints({3}, {98, 99, 0})).message(),
            Told(check, Ints({3}, {98, 99, 0})));
}

TEST(Check, HoldsEachColumnToItsOwnBounds) {
  Check check = TenIndices();
  check.bounds = {{-2, 1, "axis 0"}, {-5, 4, "axis 1"}};
  EXPECT_EQ(Told(check, Ints({2, 2}, {1, 4, -2, -5})), "");
  EXPECT_EQ(Told(check, Ints({2, 2}, {1, 4, -2, -6})),
            "take (Gather): index -6 is out of range [-5, 4] of axis 1");
  EXPECT_EQ(Told(check, Ints({2, 2}, {2, 4, -2, -5})),
            "take (Gather): index 2 is out of range [-2, 1] of axis 0");
  EXPECT_EQ(CheckValues(check, Ints({2, 2}, {1, 2, 2, 0})).message(),
            "take (Gather): index 2 is out of range [-2, 1] of axis 0");
}

TEST(Check, OfScalarsAndSmallTypesIsMadeToo) {
  EXPECT_EQ(Told(TenIndices(), Ints({}, {10})),
            "take (Gather): index 10 is out of range [-10, 9] of axis 0");
  const HostTensor bytes =
      HostTensor::FromVector(TensorShape{DataType::kUInt8, {2}}, std::vector<uint8_t>{9, 255});
  EXPECT_EQ(Told(TenIndices(), bytes),
            "take (Gather): index 255 is out of range [-10, 9] of axis 0");
}

TEST(Check, IsFoundFromEverythingComputedFromTheTensorAndByOrder) {
  const Tensor x = Tensor::Placeholder("x", TensorShape{DataType::kInt64, {3}});
  Check late = TenIndices();
  late.order = 7;
  const auto b = Checked(x, late);
  ASSERT_TRUE(b.ok());
  const auto a = Checked(Made("function (X) -> (Y) { Y = X * 2; }", {*b}), TenIndices());
  ASSERT_TRUE(a.ok());
  const Tensor sum = Made("function (X, Y) -> (Z) { Z = X + Y; }", {*a, *b});
  const std::vector<CheckedTensor> found = ChecksOf({sum, sum});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].check->order, 0);
  EXPECT_EQ(found[1].check->order, 7);
  EXPECT_EQ(found[1].values, x);
  EXPECT_TRUE(ChecksOf({x}).empty());
  const auto values = EvaluateReference({x}, {Ints({3}, {1, 4, 5})}, {sum}, 1000);
  EXPECT_EQ(values.status().message(),
            "take (Gather): index 10 is out of range [-10, 9] of axis 0");
  EXPECT_EQ(values.status().code(), absl::StatusCode::kOutOfRange);
}

TEST(Check, OfWhatIsKnownIsMadeAtOnce) {
  EXPECT_FALSE(Checked(Tensor::Constant(Ints({1}, {10})), TenIndices()).ok());
  const auto fine = Checked(Tensor::Constant(Ints({1}, {9})), TenIndices());
  ASSERT_TRUE(fine.ok());
  EXPECT_NE(fine->constant(), nullptr);
}

TEST(Check, WithNothingInRangeFailsUnlessThereAreNoValues) {
  Check check = TenIndices();
  check.bounds = {{0, -1, "axis 0"}};
  const Tensor some = Tensor::Placeholder("x", TensorShape{DataType::kInt64, {3}});
  const Tensor none = Tensor::Placeholder("x", TensorShape{DataType::kInt64, {0}});
  EXPECT_FALSE(Checked(some, check).ok());
  EXPECT_TRUE(Checked(none, check).ok());
}

// --- Checks on the host, of input values.

TEST(InputCheck, IsMadeOfAnInputAndOfALittleArithmetic) {
  const Tensor x = Tensor::Placeholder("x", TensorShape{DataType::kInt64, {3}});
  const Tensor mask = Tensor::Placeholder("mask", TensorShape{DataType::kInt32, {3}});
  const auto check = std::make_shared<const Check>(TenIndices());
  const auto told = [&](const Tensor& values, const std::vector<int64_t>& numbers) {
    const auto made = InputCheck::Make({check, values}, {mask, x});
    EXPECT_TRUE(made.ok()) << made.status();
    EXPECT_TRUE(made.ok() && made->has_value());
    if (!made.ok() || !made->has_value()) return std::string();
    const HostTensor ones = HostTensor::FromVector(mask.shape(), std::vector<int32_t>{1, 0, 1});
    return std::string((*made)->Run({ones, Ints({3}, numbers)}).message());
  };
  const std::string place = "take (Gather): index ";
  const std::string bounds = " is out of range [-10, 9] of axis 0";
  EXPECT_EQ(told(x, {0, 9, -10}), "");
  EXPECT_EQ(told(x, {0, 10, -10}), place + "10" + bounds);
  const Tensor masked = Made("function (X, M) -> (Y) { Y = X * M + 1; }", {x, mask});
  EXPECT_EQ(told(masked, {0, 8, 7}), "");
  // The value range does not prove these in bounds, so their values are computed.
  EXPECT_EQ(told(masked, {0, 99, 7}), "");
  EXPECT_EQ(told(masked, {0, 99, 9}), place + "10" + bounds);
  EXPECT_EQ(told(masked, {int64_t{1} << 62, 0, 0}), place + "4611686018427387905" + bounds);
}

TEST(InputCheck, IsNotMadeOfFloatsOrMuchWork) {
  const Tensor f = Tensor::Placeholder("f", TensorShape{DataType::kFloat32, {3}});
  const Tensor many = Tensor::Placeholder("many", TensorShape{DataType::kInt64, {5000}});
  const auto check = std::make_shared<const Check>(TenIndices());
  const auto is_made = [&](const Tensor& values, const Tensor& input) {
    const auto made = InputCheck::Make({check, values}, {input});
    return made.ok() && made->has_value();
  };
  EXPECT_FALSE(is_made(Made("function (X) -> (Y) { Y = as_int(X, 64); }", {f}), f));
  EXPECT_FALSE(is_made(Made("function (X) -> (Y) { Y = X + 1; }", {many}), many));
  EXPECT_TRUE(is_made(many, many));
  EXPECT_FALSE(is_made(many, f));  // not an input of the program
}

// --- Ranges that are proven.

TEST(IntegerRange, FollowsFromHowNumbersAreComputed) {
  const Tensor x = Tensor::Placeholder("x", TensorShape{DataType::kInt64, {4, 3}});
  const Tensor f = Tensor::Placeholder("f", TensorShape{DataType::kFloat32, {4, 3}});
  const auto range = [](const Tensor& tensor) {
    const IntegerRange found = RangeOf(tensor);
    return std::pair(found.least, found.greatest);
  };
  const auto of = [&](const std::string& value, const Tensor& input) {
    return range(Made("function (X) -> (Y) { Y = " + value + "; }", {input}));
  };
  const std::pair all(kLeast, kGreatest);
  EXPECT_EQ(range(x), all);
  EXPECT_EQ(range(Tensor::Constant(Ints({3}, {4, -2, 7}))), std::pair(int64_t{-2}, int64_t{7}));
  EXPECT_EQ(of("argsort(X, 1, 1)", f), std::pair(int64_t{0}, int64_t{2}));
  EXPECT_EQ(of("index(X, 0)", f), std::pair(int64_t{0}, int64_t{3}));
  EXPECT_EQ(of("index(X, 0) * 2 - 5", f), std::pair(int64_t{-5}, int64_t{1}));
  EXPECT_EQ(of("X % 10", x), std::pair(int64_t{0}, int64_t{9}));
  EXPECT_EQ(of("X % X", x), all);
  EXPECT_EQ(of("max(min(X, 9), -3)", x), std::pair(int64_t{-3}, int64_t{9}));
  EXPECT_EQ(of("X < 0 ? 1 : 7", x), std::pair(int64_t{1}, int64_t{7}));
  EXPECT_EQ(of("reshape(X % 4, 12)", x), std::pair(int64_t{0}, int64_t{3}));
  EXPECT_EQ(of("as_int(X % 300, 32)", x), std::pair(int64_t{0}, int64_t{299}));
  EXPECT_EQ(of("as_int(X % 300, 8)", x), std::pair(int64_t{-128}, int64_t{127}));
  EXPECT_EQ(of("X + 1", x), all);
  EXPECT_EQ(range(Made("function (X[M, N], F[M, N]) -> (Y) { P = X % 4 + 2; G[i : M] = >(F[i, j]); "
                       "Y[i : M] = >(F[i, j] == G[i] ? P[i, j]); }",
                       {x, f})),
            std::pair(int64_t{0}, int64_t{5}));
  EXPECT_EQ(of("as_int(X, 64)", f), all);
  EXPECT_EQ(of("cumsum(X % 4, 0)", x), std::pair(int64_t{0}, int64_t{12}));
  EXPECT_EQ(of("cumprod(X % 4, 0)", x), all);
  // Elements that no index writes are 0.
  EXPECT_EQ(
      range(Made("function (X[M, N]) -> (Y) { P = X % 2 + 3; Y[i, j : M + 1, N] = =(P[i, j]); }",
                 {x})),
      std::pair(int64_t{0}, int64_t{4}));
  EXPECT_EQ(range(Made("function (X[M, N]) -> (Y) { P = X % 2; Y[i : M] = +(P[i, j]); }", {x})),
            all);
}

TEST(Check, OfWhatIsProvenIsLeftOut) {
  const Tensor x = Tensor::Placeholder("x", TensorShape{DataType::kInt64, {3}});
  const Tensor proven = Made("function (X) -> (Y) { Y = X % 10; }", {x});
  const Tensor open = Made("function (X) -> (Y) { Y = X % 11; }", {x});
  EXPECT_TRUE(ChecksOf({*Checked(proven, TenIndices())}).empty());
  EXPECT_EQ(ChecksOf({*Checked(open, TenIndices())}).size(), 1u);
  // Checking a tensor twice adds one check.
  const Tensor checked = *Checked(x, TenIndices());
  EXPECT_EQ(ChecksOf({*Checked(checked, TenIndices())}).size(), 1u);
}

}  // namespace
}  // namespace tartan::api
