// SPDX-License-Identifier: Apache-2.0
#include "tile/lower/rows/row_partials.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tile/lower/cpu/reduction.h"

namespace tartan::lower {
namespace {

// maximum number of partial results that every work-item reads directly
constexpr int64_t kReadAtOnce = 16;

}  // namespace

using loop::ExprPtr;
using loop::StmtPtr;

PartialResults::PartialResults(const RowStages& stages, const plan::RowGroupPlan& plan,
                               DataType type)
    : IndexBuilder(stages.index_type()), plan_(plan), type_(type) {
  while (row_threads() / combined_ > kReadAtOnce && combined_ < 2 * kReadAtOnce) combined_ *= 2;
  if (row_threads() <= kReadAtOnce) combined_ = 1;
}

std::vector<StmtPtr> PartialResults::Declare() const {
  std::vector<StmtPtr> arrays = {Array("partial", Count())};
  arrays.push_back(Array("combined", IsOneRound() ? Count() : plan_.BlockRows() * combined_));
  return arrays;
}

std::vector<StmtPtr> PartialResults::Join(Aggregation aggregation, bool is_odd) const {
  const ExprPtr item = Own();
  const std::string all = ArrayName(IsOneRound() && is_odd ? "combined" : "partial");
  std::vector<StmtPtr> statements = {
      loop::MakeStore(all, type_, item, loop::Var("sum", {type_, 1})), loop::MakeBarrier()};
  if (IsOneRound()) {
    const ExprPtr begin = loop::Sub(item, loop::Mul(Lane(), Number(distance())));
    statements.push_back(DeclareResult(aggregation, all, begin, row_threads(), distance()));
    return statements;
  }
  std::vector<ExprPtr> parts;
  for (int64_t part = 0; part < row_threads() / combined_; ++part) {
    const ExprPtr from = loop::Add(item, Number(part * combined_ * distance()));
    parts.push_back(loop::LoadFrom(all, type_, from));
  }
  const ExprPtr row = plan_.BlockRows() > 1 ? Var("row") : Number(0);
  const ExprPtr begin = loop::Mul(row, Number(combined_));
  statements.push_back(
      loop::MakeIf(loop::Less(Lane(), Number(combined_)),
                   loop::MakeStore(ArrayName("combined"), type_, loop::Add(begin, Lane()),
                                   Tree(aggregation, std::move(parts)))));
  statements.push_back(loop::MakeBarrier());
  statements.push_back(DeclareResult(aggregation, ArrayName("combined"), begin, combined_, 1));
  return statements;
}

ExprPtr PartialResults::Own() const {
  if (plan_.item_rows == 1) return Var("item");
  return loop::Add(loop::Mul(Var("row"), Number(row_threads())), Lane());
}

ExprPtr PartialResults::Aggregate(const poly::FlatContraction& flat, const ExprPtr& old,
                                  const ExprPtr& value) {
  const auto* apply = std::get_if<loop::Apply>(&value->node);
  if (flat.aggregation == Aggregation::kSum && IsFloat(flat.accumulator_type) && apply != nullptr &&
      apply->op == ScalarOp::kMul) {
    return loop::MulAdd(apply->operands[0], apply->operands[1], old);
  }
  return loop::ApplyOp(poly::AggregationOp(flat.aggregation), {old, value});
}

StmtPtr PartialResults::ReduceLanes(Aggregation aggregation, const loop::Type& type) {
  const ExprPtr acc = loop::Var("acc", type);
  std::vector<ExprPtr> parts;
  if (type.lanes == 1) parts.push_back(acc);
  for (int lane = 0; type.lanes > 1 && lane < type.lanes; ++lane) {
    parts.push_back(loop::LaneOf(acc, lane));
  }
  return loop::MakeDeclare({type.element, 1}, "sum", Tree(aggregation, std::move(parts)));
}

ExprPtr PartialResults::Tree(Aggregation aggregation, std::vector<ExprPtr> parts) {
  while (parts.size() > 1) {
    const size_t half = (parts.size() + 1) / 2;
    for (size_t i = 0; i + half < parts.size(); ++i) {
      parts[i] = loop::ApplyOp(poly::AggregationOp(aggregation), {parts[i], parts[i + half]});
    }
    parts.resize(half);
  }
  return parts[0];
}

std::string PartialResults::ArrayName(const char* array) const {
  return absl::StrCat(array, "_", Name(type_));
}

StmtPtr PartialResults::Array(const char* name, int64_t size) const {
  return loop::MakeArray({type_, 1}, ArrayName(name), size, loop::Space::kLocal);
}

StmtPtr PartialResults::DeclareResult(Aggregation aggregation, const std::string& array,
                                      const ExprPtr& begin, int64_t count, int64_t distance) const {
  const int lanes = distance == 1 && count % 4 == 0 ? 4 : 1;
  std::vector<ExprPtr> parts;
  for (int64_t part = 0; part < count; part += lanes) {
    const ExprPtr from = loop::Add(begin, Number(part * distance));
    parts.push_back(loop::LoadFrom(array, type_, from, lanes, lanes > 1));
  }
  const ExprPtr vector = Tree(aggregation, std::move(parts));
  if (lanes == 1) return loop::MakeDeclare({type_, 1}, "result", vector);
  std::vector<ExprPtr> all;
  for (int lane = 0; lane < lanes; ++lane) {
    all.push_back(loop::LaneOf(loop::Var("parts", {type_, lanes}), lane));
  }
  return loop::MakeBlock(
      {loop::MakeDeclare({type_, lanes}, "parts", vector),
       loop::MakeDeclare({type_, 1}, "result", Tree(aggregation, std::move(all)))});
}

}  // namespace tartan::lower
