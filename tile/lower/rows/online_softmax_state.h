// SPDX-License-Identifier: Apache-2.0
// State of online softmax (poly::FindOnlineSoftmax): what the work-items of a row carry from one
// block of its elements to the next. It is the maximum so far, and sums of exponentials relative to
// it.
#pragma once

#include <vector>

#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::lower {

// Local array with the factor per row by which a matmul rescales its running sums.
inline constexpr char kRescales[] = "rescales";

class OnlineSoftmaxState {
 public:
  // Both arguments outlive the object.
  OnlineSoftmaxState(const RowStages& stages, const plan::RowGroupPlan& plan)
      : stages_(stages), plan_(plan) {}

  std::vector<loop::StmtPtr> Declare() const;

  // Returns a reduction's result; for rows in blocks, the result over all blocks so far. `is_first`
  // as for Raise.
  loop::ExprPtr Carry(poly::OnlineRole role, size_t stage, const loop::ExprPtr& of_block,
                      const loop::ExprPtr& is_first, std::vector<loop::StmtPtr>* statements) const;

  // Updates the running maximum with a block's maximum and returns it, as the value to subtract
  // from elements. The work-item that `is_first` of its row (null: it is alone) stores the
  // rescaling factor.
  loop::ExprPtr Raise(const loop::ExprPtr& of_block, const loop::ExprPtr& is_first,
                      std::vector<loop::StmtPtr>* statements) const;

  // Adds a block's sum to the running sum of stage `s`, and returns it.
  loop::ExprPtr Add(size_t s, const loop::ExprPtr& of_block,
                    std::vector<loop::StmtPtr>* statements) const;

 private:
  const RowStages& stages_;
  const plan::RowGroupPlan& plan_;
};

}  // namespace tartan::lower
