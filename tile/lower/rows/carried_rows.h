// SPDX-License-Identifier: Apache-2.0
// What the work-items of a row carry from a block of its elements to the next, where rows are
// walked (poly::FindOnlineRows): the greatest element so far, and sums of exponentials of
// differences from it.
#pragma once

#include <vector>

#include "tile/lower/rows/row_stages.h"
#include "tile/plan/rows/row_group_plan.h"

namespace tartan::lower {

// Of each row, by which its sums are multiplied: in local memory, for products.
inline constexpr char kRescales[] = "rescales";

class CarriedRows {
 public:
  // Both outlive the object.
  CarriedRows(const RowStages& stages, const plan::RowGroupPlan& plan)
      : stages_(stages), plan_(plan) {}

  std::vector<loop::StmtPtr> Declare() const;

  // The greatest element, with that of another block: what is subtracted from elements. The
  // work-item that `is_first` of its row (null: it is alone) tells products of it.
  loop::ExprPtr Raise(const loop::ExprPtr& of_block, const loop::ExprPtr& is_first,
                      std::vector<loop::StmtPtr>* statements) const;

  // The sum of stage `s`, with that of another block.
  loop::ExprPtr Add(size_t s, const loop::ExprPtr& of_block,
                    std::vector<loop::StmtPtr>* statements) const;

 private:
  const RowStages& stages_;
  const plan::RowGroupPlan& plan_;
};

}  // namespace tartan::lower
