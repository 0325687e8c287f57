// SPDX-License-Identifier: Apache-2.0
#include "tile/poly/winograd_transform.h"

#include <utility>

namespace tartan::poly {
namespace {

using math::Rational;

// Elements of the filter window per direction.
constexpr int64_t kWindow = 3;

// Returns the coefficients of the polynomial with roots at all points except number `left_out` (-1:
// at all points).
std::vector<Rational> ProductOfRoots(const std::vector<Rational>& points, int left_out) {
  std::vector<Rational> product = {1};
  for (int p = 0; p < static_cast<int>(points.size()); ++p) {
    if (p == left_out) continue;
    std::vector<Rational> next(product.size() + 1);
    for (size_t i = 0; i < product.size(); ++i) {
      next[i] = next[i] - points[p] * product[i];
      next[i + 1] = next[i + 1] + product[i];
    }
    product = std::move(next);
  }
  return product;
}

bool SameButForSigns(const std::vector<Rational>& a, const std::vector<Rational>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && a[i] != -b[i]) return false;
  }
  return true;
}

std::vector<Rational> ColumnOf(const TransformMatrix& matrix, size_t column) {
  std::vector<Rational> values;
  for (const std::vector<Rational>& row : matrix) values.push_back(row[column]);
  return values;
}

ExprPtr Add(const ExprPtr& a, const ExprPtr& b) {
  return MakeApply(ScalarOp::kAdd, DataType::kFloat32, {a, b});
}
ExprPtr Subtract(const ExprPtr& a, const ExprPtr& b) {
  return MakeApply(ScalarOp::kSub, DataType::kFloat32, {a, b});
}

// Returns operand * factor. Requires factor > 0.
ExprPtr Scale(const ExprPtr& operand, const Rational& factor) {
  if (factor == Rational(1)) return operand;
  const double value =
      static_cast<double>(factor.numerator()) / static_cast<double>(factor.denominator());
  return MakeApply(ScalarOp::kMul, DataType::kFloat32,
                   {operand, MakeExpr(DataType::kFloat32, Literal{value})});
}

// Returns the sum of operands times factors; null if all factors are 0.
ExprPtr WeightedSum(const std::vector<Rational>& factors, const std::vector<ExprPtr>& operands) {
  ExprPtr sum;
  for (const bool negative : {false, true}) {
    for (size_t i = 0; i < factors.size(); ++i) {
      if (factors[i].is_zero() || (factors[i] < Rational(0)) != negative) continue;
      const ExprPtr term = Scale(operands[i], negative ? -factors[i] : factors[i]);
      if (sum == nullptr) {
        sum = negative ? MakeApply(ScalarOp::kNeg, DataType::kFloat32, {term}) : term;
      } else {
        sum = negative ? Subtract(sum, term) : Add(sum, term);
      }
    }
  }
  return sum;
}

// Transforms one column of operands with fewer operations.
//
// - Two operands whose factors differ only in sign (points p and -p of the inverse transform) are
//   replaced by their sum and difference.
// - Two results whose factors differ only in sign (forward transforms) are the sum and difference
//   of the equal and the opposite terms.
std::vector<ExprPtr> TransformColumn(TransformMatrix matrix, std::vector<ExprPtr> operands) {
  for (size_t c = 0; c + 1 < operands.size(); ++c) {
    if (!SameButForSigns(ColumnOf(matrix, c), ColumnOf(matrix, c + 1))) continue;
    const ExprPtr sum = Add(operands[c], operands[c + 1]);
    operands[c + 1] = Subtract(operands[c], operands[c + 1]);
    operands[c] = sum;
    for (std::vector<Rational>& row : matrix) {
      if (row[c] == row[c + 1]) {
        row[c + 1] = 0;
      } else {
        row[c] = 0;
        row[c + 1] = -row[c + 1];
      }
    }
    ++c;
  }
  std::vector<ExprPtr> results;
  for (size_t r = 0; r < matrix.size(); ++r) {
    if (r + 1 == matrix.size() || !SameButForSigns(matrix[r], matrix[r + 1])) {
      results.push_back(WeightedSum(matrix[r], operands));
      continue;
    }
    std::vector<Rational> same(operands.size());
    std::vector<Rational> opposite(operands.size());
    for (size_t c = 0; c < operands.size(); ++c) {
      (matrix[r][c] == matrix[r + 1][c] ? same : opposite)[c] = matrix[r][c];
    }
    const ExprPtr even = WeightedSum(same, operands);
    const ExprPtr odd = WeightedSum(opposite, operands);
    results.push_back(Add(even, odd));
    results.push_back(Subtract(even, odd));
    ++r;
  }
  return results;
}

}  // namespace

FilterTransforms MakeFilterTransforms(int64_t tile) {
  std::vector<Rational> points = {0, 1, -1};
  if (tile == 4) {
    points = {0, Rational(3, 4), Rational(-3, 4), Rational(3, 2), Rational(-3, 2)};
  }
  const size_t count = points.size() + 1;  // plus the point at infinity
  FilterTransforms transforms;
  transforms.result.assign(tile, std::vector<Rational>(count));
  for (size_t p = 0; p < points.size(); ++p) {
    Rational power = 1;
    for (int64_t i = 0; i < tile; ++i, power = power * points[p]) transforms.result[i][p] = power;
    transforms.data.push_back(ProductOfRoots(points, static_cast<int>(p)));
    transforms.data.back().resize(count);
    Rational norm = 1;
    for (size_t other = 0; other < points.size(); ++other) {
      if (other != p) norm = norm * (points[p] - points[other]);
    }
    std::vector<Rational>& weights = transforms.weights.emplace_back();
    power = 1;
    for (int64_t i = 0; i < kWindow; ++i, power = power * points[p])
      weights.push_back(power / norm);
  }
  transforms.result[tile - 1][count - 1] = 1;
  transforms.data.push_back(ProductOfRoots(points, -1));
  transforms.weights.push_back(std::vector<Rational>(kWindow));
  transforms.weights.back().back() = 1;
  return transforms;
}

std::vector<ExprPtr> TransformTile(const TransformMatrix& matrix,
                                   const std::vector<ExprPtr>& operands) {
  const size_t columns = matrix.front().size();
  const size_t rows = matrix.size();
  std::vector<std::vector<ExprPtr>> halfway(columns);  // transformed columns
  for (size_t c = 0; c < columns; ++c) {
    std::vector<ExprPtr> column;
    for (size_t r = 0; r < columns; ++r) column.push_back(operands[r * columns + c]);
    halfway[c] = TransformColumn(matrix, std::move(column));
  }
  std::vector<ExprPtr> results;
  for (size_t r = 0; r < rows; ++r) {
    std::vector<ExprPtr> row;
    for (size_t c = 0; c < columns; ++c) row.push_back(halfway[c][r]);
    for (ExprPtr& result : TransformColumn(matrix, std::move(row))) {
      results.push_back(std::move(result));
    }
  }
  return results;
}

}  // namespace tartan::poly
