// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/winograd_transform.h"

#include <gtest/gtest.h>

namespace tartan::poly {
namespace {

using math::Rational;

class FilterTransformsTest : public testing::TestWithParam<int64_t> {};

// Output k equals the sum over i of data k + i times weight i, exactly and for symbolic operands.
TEST_P(FilterTransformsTest, ComputeACorrelationExactly) {
  const int64_t tile = GetParam();
  const FilterTransforms transforms = MakeFilterTransforms(tile);
  ASSERT_EQ(transforms.points(), tile + 2);
  for (int64_t k = 0; k < tile; ++k) {
    for (int64_t d = 0; d < tile + 2; ++d) {
      for (int64_t w = 0; w < 3; ++w) {
        Rational sum;
        for (int64_t p = 0; p < transforms.points(); ++p) {
          sum = sum + transforms.result[k][p] * transforms.data[p][d] * transforms.weights[p][w];
        }
        EXPECT_EQ(sum, Rational(d == k + w ? 1 : 0)) << k << " " << d << " " << w;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiles, FilterTransformsTest, testing::Values(2, 4));

// Evaluates an expression of float32 operands.
double ValueOf(const ExprPtr& expr, const std::vector<double>& operands) {
  if (const auto* read = std::get_if<Read>(&expr->node)) return operands[read->access];
  if (const auto* literal = std::get_if<Literal>(&expr->node)) {
    return std::get<double>(literal->value);
  }
  const auto& apply = std::get<Apply>(expr->node);
  std::vector<double> values;
  for (const ExprPtr& operand : apply.operands) values.push_back(ValueOf(operand, operands));
  switch (apply.op) {
    case ScalarOp::kAdd:
      return values[0] + values[1];
    case ScalarOp::kSub:
      return values[0] - values[1];
    case ScalarOp::kMul:
      return values[0] * values[1];
    case ScalarOp::kNeg:
      return -values[0];
    default:
      ADD_FAILURE() << Name(apply.op);
      return 0;
  }
}

double AsDouble(const Rational& value) {
  return static_cast<double>(value.numerator()) / static_cast<double>(value.denominator());
}

TEST(TransformTile, AppliesTheMatrixToColumnsAndRows) {
  for (int64_t tile : {2, 4}) {
    const FilterTransforms transforms = MakeFilterTransforms(tile);
    for (const TransformMatrix& matrix : {transforms.data, transforms.weights, transforms.result}) {
      const size_t columns = matrix[0].size();
      std::vector<ExprPtr> operands;
      std::vector<double> values;
      for (size_t i = 0; i < columns * columns; ++i) {
        operands.push_back(MakeExpr(DataType::kFloat32, Read{static_cast<int>(i)}));
        values.push_back(static_cast<double>((i * 37 + 11) % 101) - 50);
      }
      const std::vector<ExprPtr> results = TransformTile(matrix, operands);
      ASSERT_EQ(results.size(), matrix.size() * matrix.size());
      for (size_t r = 0; r < matrix.size(); ++r) {
        for (size_t s = 0; s < matrix.size(); ++s) {
          double expected = 0;
          for (size_t i = 0; i < columns; ++i) {
            for (size_t j = 0; j < columns; ++j) {
              expected += AsDouble(matrix[r][i]) * AsDouble(matrix[s][j]) * values[i * columns + j];
            }
          }
          EXPECT_NEAR(ValueOf(results[r * matrix.size() + s], values), expected, 1e-9);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tartan::poly
