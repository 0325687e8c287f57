// SPDX-License-Identifier: Apache-2.0
// Reduction of partial results across the work-items of a row, in GPU row fusions.
#pragma once

#include <string>
#include <vector>

#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::lower {

// The partial results of a row's work-items in local memory. At most two rounds combine them; then
// every work-item has the total.
class PartialResults : IndexBuilder {
 public:
  // Both references outlive the object.
  PartialResults(const RowStages& stages, const plan::RowGroupPlan& plan, DataType type);

  std::vector<loop::StmtPtr> Declare() const;

  // Declares "result" from each work-item's "sum". Consecutive reductions of the same type
  // alternate `is_odd`, which selects the array: one must not overwrite what work-items still read.
  std::vector<loop::StmtPtr> Join(Aggregation aggregation, bool is_odd) const;

  // Returns the aggregate of a value and an element; for a sum, a multiply-add if it can.
  static loop::ExprPtr Aggregate(const poly::FlatContraction& flat, const loop::ExprPtr& old,
                                 const loop::ExprPtr& value);
  // Declares "sum", the work-item's partial result: the reduction of "acc" over its lanes.
  static loop::StmtPtr ReduceLanes(Aggregation aggregation, const loop::Type& type);
  // A reduction tree that pairs elements half the length apart first, as vector instructions do.
  static loop::ExprPtr Tree(Aggregation aggregation, std::vector<loop::ExprPtr> parts);

 private:
  int64_t row_threads() const { return plan_.row_threads; }
  // Count: partial results of all rows of the block. Own: the work-item's own element for a row.
  int64_t Count() const { return plan_.Threads() * plan_.item_rows; }
  loop::ExprPtr Own() const;
  // The stride between the partial results of a row.
  int64_t distance() const { return plan_.rows_first ? plan_.BlockRows() : 1; }
  bool IsOneRound() const { return combined_ == 1; }
  loop::ExprPtr Lane() const { return Var("lane"); }
  std::string ArrayName(const char* array) const;
  loop::StmtPtr Array(const char* name, int64_t size) const;
  loop::StmtPtr DeclareResult(Aggregation aggregation, const std::string& array,
                              const loop::ExprPtr& begin, int64_t count, int64_t distance) const;

  const plan::RowGroupPlan& plan_;
  const DataType type_;
  int64_t combined_ = 8;  // partial results left after the first round; 1: there is only one round
};

}  // namespace tartan::lower
