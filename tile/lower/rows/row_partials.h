// SPDX-License-Identifier: Apache-2.0
// How the work-items of a row join their partial results, in kernels of chains on GPUs.
#pragma once

#include <string>
#include <vector>

#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::lower {

// The partial results of a row's work-items, in local memory: joined in at most two rounds, so that
// all of them have the total.
class PartialResults {
 public:
  // Both outlive the object.
  PartialResults(const RowStages& stages, const plan::RowGroupPlan& plan, DataType type);

  std::vector<loop::StmtPtr> Declare() const;

  // Declares "result" from each work-item's "sum". Two reductions of a type that follow each other
  // differ in `is_odd`, so that none writes what the other's work-items still read.
  std::vector<loop::StmtPtr> Join(Aggregation aggregation, bool is_odd) const;

  // Pairs far apart first, as halves of vectors are.
  static loop::ExprPtr Tree(Aggregation aggregation, std::vector<loop::ExprPtr> parts);

 private:
  int64_t row_threads() const { return plan_.row_threads; }
  // Of all rows of the block, and the work-item's own one for a row.
  int64_t Count() const { return plan_.Threads() * plan_.item_rows; }
  loop::ExprPtr Own() const;
  // Between the partial results of a row.
  int64_t distance() const { return plan_.rows_first ? plan_.BlockRows() : 1; }
  bool IsOneRound() const { return joined_ == 1; }
  loop::ExprPtr Lane() const { return stages_.Var("lane"); }
  loop::ExprPtr Number(int64_t value) const { return stages_.Number(value); }
  std::string ArrayName(const char* array) const;
  loop::StmtPtr Array(const char* name, int64_t size) const;
  loop::StmtPtr DeclareResult(Aggregation aggregation, const std::string& array,
                              const loop::ExprPtr& begin, int64_t count, int64_t distance) const;

  const RowStages& stages_;
  const plan::RowGroupPlan& plan_;
  const DataType type_;
  int64_t joined_ = 8;  // that are left after the first round; 1: there is but one
};

}  // namespace tartan::lower
