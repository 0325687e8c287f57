// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/rows/online_softmax_state.h"

#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tartan::lower {
namespace {

using loop::ExprPtr;
using loop::StmtPtr;

constexpr DataType kFloat = DataType::kFloat32;
constexpr loop::Type kNumber = {kFloat, 1};
constexpr char kMaximum[] = "maximum";
constexpr char kRescale[] = "rescale";

std::string SumName(size_t stage) { return absl::StrCat("carried", stage); }

ExprPtr Lowest() { return loop::Float(-std::numeric_limits<double>::infinity()); }

}  // namespace

std::vector<StmtPtr> OnlineSoftmaxState::Declare() const {
  std::vector<StmtPtr> statements = {
      loop::MakeArray(kNumber, kRescales, plan_.BlockRows(), loop::Space::kLocal),
      loop::MakeDeclare(kNumber, kMaximum, Lowest(), true),
      loop::MakeDeclare(kNumber, kRescale, loop::Float(0), true)};
  for (size_t s = 0; s < plan_.stages.size(); ++s) {
    const plan::RowGroupStage& stage = plan_.stages[s];
    if (stage.role != poly::OnlineRole::kSum || stage.product.has_value()) continue;
    statements.push_back(loop::MakeDeclare(kNumber, SumName(s), loop::Float(0), true));
  }
  return statements;
}

ExprPtr OnlineSoftmaxState::Carry(poly::OnlineRole role, size_t stage, const ExprPtr& of_block,
                                  const ExprPtr& is_first, std::vector<StmtPtr>* statements) const {
  if (!plan_.walk.has_value() || !poly::IsInKeyLoop(role)) return of_block;
  return role == poly::OnlineRole::kMaximum ? Raise(of_block, is_first, statements)
                                            : Add(stage, of_block, statements);
}

ExprPtr OnlineSoftmaxState::Raise(const ExprPtr& of_block, const ExprPtr& is_first,
                                  std::vector<StmtPtr>* statements) const {
  const ExprPtr maximum = loop::Var(kMaximum, kNumber);
  const ExprPtr new_maximum = loop::Var("new_maximum", kNumber);
  const ExprPtr shift = loop::Var("shift", kNumber);
  statements->push_back(loop::MakeDeclare(kNumber, "new_maximum", loop::Max(maximum, of_block)));
  // If all elements so far are -inf, -inf - -inf would be NaN, although a larger element may
  // follow. With a shift of 0 the exponentials are 0 as required. If no larger element follows, the
  // final divisor is 0.
  statements->push_back(loop::MakeDeclare(
      kNumber, "shift",
      loop::Select(loop::Equals(new_maximum, Lowest()), loop::Float(0), new_maximum)));
  statements->push_back(loop::MakeAssign(
      kRescale, loop::ApplyOp(ScalarOp::kExp, {loop::ApplyOp(ScalarOp::kSub, {maximum, shift})})));
  statements->push_back(loop::MakeAssign(kMaximum, new_maximum));
  const ExprPtr row = plan_.BlockRows() > 1 ? stages_.Var("row") : stages_.Number(0);
  StmtPtr store = loop::MakeStore(kRescales, kFloat, row, loop::Var(kRescale, kNumber));
  statements->push_back(is_first == nullptr ? store : loop::MakeIf(is_first, std::move(store)));
  return shift;
}

ExprPtr OnlineSoftmaxState::Add(size_t s, const ExprPtr& of_block,
                                std::vector<StmtPtr>* statements) const {
  const ExprPtr sum = loop::Var(SumName(s), kNumber);
  statements->push_back(
      loop::MakeAssign(SumName(s), loop::MulAdd(sum, loop::Var(kRescale, kNumber), of_block)));
  return sum;
}

}  // namespace tartan::lower
