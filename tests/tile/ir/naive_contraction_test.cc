// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tile/ir/run_tile.h"
#include "tile/ir/program_builder.h"

namespace tartan::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

math::Affine Index(int i, math::Rational coefficient = 1) {
  return math::Affine::Variable(i, coefficient);
}

// O[output indices : dims] = aggregation(X[input indices]).
absl::StatusOr<HostTensor> Contract(Aggregation aggregation, std::vector<std::string> names,
                                    std::vector<math::Affine> output, std::vector<int64_t> dims,
                                    std::vector<math::Affine> input, const HostTensor& x,
                                    std::vector<math::RangeConstraint> constraints = {},
                                    const NaiveOptions& options = {}) {
  ProgramBuilder builder;
  Contraction contraction;
  contraction.aggregation = aggregation;
  contraction.index_names = std::move(names);
  contraction.output.indices = std::move(output);
  contraction.inputs = {{builder.AddInput("X", x.shape()).value(), std::move(input)}};
  contraction.constraints = std::move(constraints);
  const auto value = builder.AddContraction(contraction, std::move(dims), "O");
  if (!value.ok()) return value.status();
  builder.AddOutput(*value, "O");
  const auto outputs = EvaluateNaively(std::move(builder).Build().value(), {x}, options);
  if (!outputs.ok()) return outputs.status();
  return outputs->front();
}

TEST(NaiveContraction, AggregatesEveryWay) {
  const HostTensor x = Floats({3}, {2, -3, 4});
  const auto reduce = [&](Aggregation aggregation) {
    return Contract(aggregation, {"i"}, {}, {}, {Index(0)}, x)->GetDouble(0);
  };
  EXPECT_EQ(reduce(Aggregation::kSum), 3);
  EXPECT_EQ(reduce(Aggregation::kProduct), -24);
  EXPECT_EQ(reduce(Aggregation::kMax), 4);
  EXPECT_EQ(reduce(Aggregation::kMin), -3);
}

TEST(NaiveContraction, NothingToAggregateIsZeroEvenForMaxAndProduct) {
  const HostTensor x = Floats({0}, {});
  for (const Aggregation aggregation : {Aggregation::kSum, Aggregation::kProduct, Aggregation::kMax,
                                        Aggregation::kMin, Aggregation::kAssign}) {
    EXPECT_EQ(Contract(aggregation, {"i"}, {}, {}, {Index(0)}, x)->GetDouble(0), 0);
  }
}

TEST(NaiveContraction, ADefaultFillsWhatIsNotWritten) {
  const HostTensor result =
      RunTile("function (I[N], D) -> (O) { O[2 * i : 4] = +(I[i]) default D; }",
              {Floats({2}, {1, 2}), Floats({4}, {5, 6, 7, 8})});
  EXPECT_THAT(result.ToDoubles(), ElementsAre(1, 6, 2, 8));
}

TEST(NaiveContraction, AssigningTwiceIsAnError) {
  const HostTensor x = Floats({2}, {1, 2});
  const auto twice = Contract(Aggregation::kAssign, {"i"}, {}, {}, {Index(0)}, x);
  EXPECT_EQ(twice.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(twice.status().message()), HasSubstr("more than once"));
  // Two index points, but only one of them valid.
  const auto once = Contract(Aggregation::kAssign, {"i"}, {}, {}, {Index(0)}, x, {{Index(0), 1}});
  EXPECT_EQ(once->GetDouble(0), 1);
}

TEST(NaiveContraction, MaxAndMinHandNaNOnWhereverItStands) {
  for (const std::vector<float>& values :
       {std::vector<float>{NAN, 1, 2}, {1, NAN, 2}, {1, 2, NAN}}) {
    for (const Aggregation aggregation : {Aggregation::kMax, Aggregation::kMin}) {
      const auto result = Contract(aggregation, {"i"}, {}, {}, {Index(0)}, Floats({3}, values));
      EXPECT_TRUE(std::isnan(result->GetDouble(0)));
    }
  }
}

TEST(NaiveContraction, InfinitiesAddUpAsUsual) {
  const auto sum = [](std::vector<float> values) {
    return Contract(Aggregation::kSum, {"i"}, {}, {}, {Index(0)}, Floats({2}, values))
        ->GetDouble(0);
  };
  EXPECT_EQ(sum({INFINITY, 1}), INFINITY);
  EXPECT_TRUE(std::isnan(sum({INFINITY, -INFINITY})));
}

TEST(NaiveContraction, SumsWithoutLosingSmallTerms) {
  EXPECT_EQ(Contract(Aggregation::kSum, {"i"}, {}, {}, {Index(0)}, Floats({3}, {16777216, 1, 1}))
                ->GetDouble(0),
            16777218);
}

TEST(NaiveContraction, IntegersWrapAndAreExact) {
  const HostTensor bytes = Ints(DataType::kInt8, {2}, {100, 100});
  EXPECT_EQ(Contract(Aggregation::kSum, {"i"}, {}, {}, {Index(0)}, bytes)->GetInt(0), -56);
  const HostTensor large = Ints(DataType::kInt64, {2}, {int64_t{1} << 60, 1});
  EXPECT_EQ(Contract(Aggregation::kSum, {"i"}, {}, {}, {Index(0)}, large)->GetInt(0),
            (int64_t{1} << 60) + 1);
  const HostTensor bits = Ints(DataType::kUInt64, {2}, {-1, 1});
  EXPECT_EQ(Contract(Aggregation::kMax, {"i"}, {}, {}, {Index(0)}, bits)->GetInt(0), -1);
}

TEST(NaiveContraction, BoolsAggregateAsLogic) {
  const HostTensor x = Ints(DataType::kBool, {3}, {1, 1, 0});
  EXPECT_EQ(Contract(Aggregation::kSum, {"i"}, {}, {}, {Index(0)}, x)->GetInt(0), 1);
  EXPECT_EQ(Contract(Aggregation::kProduct, {"i"}, {}, {}, {Index(0)}, x)->GetInt(0), 0);
}

TEST(NaiveContraction, FractionalIndicesMustBeIntegers) {
  // O[i] = X[i / 2]: odd elements have no valid index.
  const auto result = Contract(Aggregation::kSum, {"i"}, {Index(0)}, {5},
                               {Index(0, math::Rational(1, 2))}, Floats({3}, {7, 8, 9}));
  EXPECT_THAT(result->ToDoubles(), ElementsAre(7, 0, 8, 0, 9));
}

TEST(NaiveContraction, FractionsInConstraintsOnlyNeedToLieInRange) {
  // 0 <= i / 2 < 2 leaves 0, 1, 2, 3.
  const auto result =
      Contract(Aggregation::kSum, {"i"}, {Index(0)}, {6}, {Index(0)},
               Floats({6}, {1, 1, 1, 1, 1, 1}), {{Index(0, math::Rational(1, 2)), 2}});
  EXPECT_THAT(result->ToDoubles(), ElementsAre(1, 1, 1, 1, 0, 0));
}

TEST(NaiveContraction, FindsBoundsThatOnlySumsOfConditionsGive) {
  // 0 <= i + j < 3 and 0 <= i - j < 3 bound both variables, though neither alone is in an access.
  const auto result =
      Contract(Aggregation::kSum, {"i", "j"}, {Index(0) + Index(1), Index(0) - Index(1)}, {3, 3},
               {}, Floats({}, {1}));
  EXPECT_THAT(result->ToDoubles(), ElementsAre(1, 0, 1, 0, 1, 0, 1, 0, 1));
}

TEST(NaiveContraction, UnboundedVariablesAreAnError) {
  const auto result = Contract(Aggregation::kSum, {"i", "far"}, {Index(0)}, {3},
                               {Index(0) + Index(1) - Index(1)}, Floats({3}, {1, 2, 3}));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("'far' has no bound"));
}

TEST(NaiveContraction, ScalarsNeedNoIndex) {
  EXPECT_EQ(Contract(Aggregation::kSum, {}, {}, {}, {}, Floats({}, {3}))->GetDouble(0), 3);
}

TEST(NaiveContraction, ConstraintsMayExcludeEverything) {
  EXPECT_EQ(
      Contract(Aggregation::kMax, {"i"}, {}, {}, {Index(0)}, Floats({2}, {1, 2}), {{Index(0), 0}})
          ->GetDouble(0),
      0);
}

TEST(NaiveContraction, CombinesEveryWay) {
  const HostTensor a = Floats({2}, {1, 2});
  const HostTensor b = Floats({2}, {2, 2});
  const HostTensor c = Floats({2}, {5, 6});
  const auto run = [&](const std::string& statement) {
    return RunTile("function (A[N], B[N], C[N]) -> (O) { " + statement + " }", {a, b, c});
  };
  EXPECT_THAT(run("O[i : N] = +(A[i] * B[j]);").ToDoubles(), ElementsAre(4, 8));
  EXPECT_THAT(run("O[i : N] = >(A[i] + B[j]);").ToDoubles(), ElementsAre(3, 4));
  EXPECT_THAT(run("O[i : N] = +(A[i] == B[i] ? C[i]);").ToDoubles(), ElementsAre(0, 6));
  const HostTensor equal = run("O[i : N] = +(A[i] == B[i]);");
  EXPECT_EQ(equal.type(), DataType::kBool);
  EXPECT_THAT(equal.ToInts(), ElementsAre(0, 1));
}

TEST(NaiveContraction, MixedTypesMeetInTheWider) {
  const HostTensor result =
      RunTile("function (A[N], B[N]) -> (O) { O[] = +(A[i] * B[i]); }",
              {Ints(DataType::kInt32, {2}, {3, 4}), Floats({2}, {0.5, 0.25})});
  EXPECT_EQ(result.type(), DataType::kFloat32);
  EXPECT_EQ(result.GetDouble(0), 2.5);
}

TEST(NaiveContraction, StopsWhereTheLimitIs) {
  const HostTensor x = Floats({1000}, std::vector<float>(1000, 1));
  NaiveOptions options;
  options.max_points = 999;
  const auto result = Contract(Aggregation::kSum, {"i"}, {}, {}, {Index(0)}, x, {}, options);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  options.max_points = 1000;
  EXPECT_TRUE(Contract(Aggregation::kSum, {"i"}, {}, {}, {Index(0)}, x, {}, options).ok());
}

// Every point of a small box tested against every condition: the definition, once more.
TEST(NaiveContraction, AgreesWithTestingEveryPoint) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    const std::vector<int64_t> dims = {pick(1, 7), pick(1, 5)};
    const math::Affine row = Index(0) + Index(2, pick(-2, 2)) + math::Affine::Constant(pick(-2, 2));
    const math::Affine column = Index(1, math::Rational(1, pick(1, 3))) + Index(2, pick(-1, 1));
    const math::RangeConstraint third{Index(2) + math::Affine::Constant(pick(-1, 3)), pick(1, 5)};
    const math::RangeConstraint all{Index(0) - Index(1) + Index(2), pick(1, 9)};
    std::vector<float> values(dims[0] * dims[1]);
    for (float& value : values) value = static_cast<float>(pick(-9, 9));
    const auto result = Contract(Aggregation::kSum, {"i", "j", "k"}, {Index(0), Index(1)}, {6, 6},
                                 {row, column}, Floats(dims, values), {third, all});
    ASSERT_TRUE(result.ok()) << result.status();
    for (int64_t i = 0; i < 6; ++i) {
      for (int64_t j = 0; j < 6; ++j) {
        double expected = 0;
        for (int64_t k = -20; k <= 20; ++k) {
          const std::vector<int64_t> point = {i, j, k};
          const math::Rational y = row.Evaluate(point);
          const math::Rational x = column.Evaluate(point);
          if (!third.Holds(point) || !all.Holds(point) || !y.is_integer() || !x.is_integer()) {
            continue;
          }
          const int64_t y_index = y.numerator();
          const int64_t x_index = x.numerator();
          if (y_index < 0 || y_index >= dims[0] || x_index < 0 || x_index >= dims[1]) continue;
          expected += values[y_index * dims[1] + x_index];
        }
        EXPECT_EQ(result->GetDouble(i * 6 + j), expected) << i << ", " << j;
      }
    }
  }
}

}  // namespace
}  // namespace tartan::ir
