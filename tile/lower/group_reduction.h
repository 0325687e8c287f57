// The aggregation within a work-group: accumulators in registers, fed from tiles in local memory or
// from memory, and joined where several work-items share an output element.
#pragma once

#include <string>
#include <vector>

#include "tile/lower/group_context.h"
#include "tile/lower/group_stage.h"
#include "tile/sem/sem.h"

namespace tartan::lower {

class GroupReduction {
 public:
  GroupReduction(GroupContext& context, const std::vector<GroupStage>& stages);

  std::vector<sem::StmtPtr> DeclareAccumulators() const;
  // Everything that the step's tiles give; `buffers` is where each of them begins.
  sem::StmtPtr Step(const std::vector<sem::ExprPtr>& buffers) const;
  // Joins partial results; the first of the work-items that share an element then has the whole.
  std::vector<sem::StmtPtr> JoinPartials() const;
  // The accumulator of the current position, a vector where the lane index is an output.
  sem::ExprPtr Accumulated() const;

 private:
  sem::Type AccumulatorType() const;
  int64_t AccumulatorCount() const;
  sem::ExprPtr Slot(const std::vector<int>& indices) const;
  sem::StmtPtr SetAccumulator(const sem::ExprPtr& slot, sem::ExprPtr value) const;
  sem::ExprPtr GetAccumulator(const sem::ExprPtr& slot) const;

  sem::StmtPtr Loops(size_t level, bool checked) const;
  sem::StmtPtr Inner(bool checked) const;
  sem::StmtPtr InnerLanes(bool checked) const;
  sem::StmtPtr Accumulate(bool checked) const;
  sem::StmtPtr Update(const sem::ExprPtr& value) const;
  sem::ExprPtr Aggregate(const sem::ExprPtr& old, const sem::ExprPtr& value) const;
  // The elements of a tile that the work-item needs now, in an array of its own.
  std::vector<sem::StmtPtr> Hold(size_t stage) const;
  std::vector<sem::StmtPtr> HoldVectors(size_t stage, std::vector<int> indices) const;
  std::vector<sem::StmtPtr> GatherLanes(size_t stage, const std::vector<int>& indices) const;
  sem::ExprPtr Held(size_t stage) const;
  // The output indices along which a stage's elements differ within the work-item.
  std::vector<int> HeldIndices(size_t stage) const;
  bool HoldsAlongReduced(size_t stage) const;
  int HeldLanes(size_t stage) const;
  sem::ExprPtr StepIsInside() const;

  GroupContext& context_;
  const std::vector<GroupStage>& stages_;
  std::vector<int> outputs_;  // the lane index last
  // Constraints that filling does not take care of.
  std::vector<math::RangeConstraint> unfilled_;
  const plan::Unrolling unrolling_;
  mutable std::vector<sem::ExprPtr> buffers_;
};

}  // namespace tartan::lower
