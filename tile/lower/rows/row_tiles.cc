// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/rows/row_tiles.h"

#include <utility>
#include <variant>

namespace tartan::lower {

using loop::ExprPtr;

ExprPtr OffsetInTiles(const RowStages& stages, const MatrixTile& tile, int64_t lanes,
                      int64_t row_threads, const ExprPtr& iteration) {
  const auto number = [&](int64_t value) { return stages.Number(value); };
  const int64_t width = lanes * row_threads;
  const ExprPtr row = stages.Var("row");
  const ExprPtr first = loop::Mul(stages.Var("lane"), number(lanes));
  const ExprPtr step = loop::Div(iteration, number(tile.depth() / width));
  const ExprPtr begun =
      loop::Mod(loop::Mul(iteration, number(width / tile.vector())), number(MatrixTile::kVectors));
  const ExprPtr swapped =
      loop::ApplyOp(ScalarOp::kBitXor, {loop::Add(begun, loop::Div(first, number(tile.vector()))),
                                        loop::Mod(row, number(MatrixTile::kVectors))});
  const ExprPtr in_line =
      loop::Add(loop::Mul(swapped, number(tile.vector())), loop::Mod(first, number(tile.vector())));
  const ExprPtr line =
      loop::Add(loop::Mul(step, number(tile.size())), loop::Mul(row, number(tile.line())));
  return loop::Add(line, in_line);
}

poly::ExprPtr WithReciprocals(const poly::ExprPtr& expr,
                              const std::function<bool(const poly::ExprPtr&)>& is_of_row) {
  const auto* apply = std::get_if<poly::Apply>(&expr->node);
  if (apply == nullptr) return expr;
  poly::Apply result = *apply;
  for (poly::ExprPtr& operand : result.operands) operand = WithReciprocals(operand, is_of_row);
  if (apply->op == ScalarOp::kDiv && IsFloat(expr->type) && is_of_row(result.operands[1])) {
    const poly::ExprPtr one = poly::MakeExpr(expr->type, poly::Literal{1.0});
    result.op = ScalarOp::kMul;
    result.operands[1] =
        poly::MakeExpr(expr->type, poly::Apply{ScalarOp::kDiv, {one, result.operands[1]}});
  }
  return poly::MakeExpr(expr->type, std::move(result));
}

}  // namespace tartan::lower
