// SPDX-License-Identifier: Apache-2.0
// The aggregation within a work-group: accumulators in registers, fed from tiles in local memory or
// from memory, and joined where several work-items share an output element.
#pragma once

#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/gpu/group_context.h"
#include "tile/lower/gpu/group_stage.h"

namespace tartan::lower {

class GroupReduction {
 public:
  // `fetched`: accesses that Fetch reads, all of what the work-item needs of each.
  GroupReduction(GroupContext& context, const std::vector<GroupStage>& stages,
                 std::vector<int> fetched = {});

  // Reads into registers, which Step takes from there.
  std::vector<loop::StmtPtr> Fetch() const;

  std::vector<loop::StmtPtr> DeclareAccumulators() const;
  // Multiplies all accumulators by what a local array has for their row, an output index or -1.
  loop::StmtPtr Rescale(const std::string& array, int row) const;
  // Everything that the step's tiles give.
  loop::StmtPtr Step() const;
  // Joins partial results; the first of the work-items that share an element then has the whole.
  std::vector<loop::StmtPtr> JoinPartials() const;
  // The accumulators of the current position, vectors where the lane index is an output.
  std::vector<loop::ExprPtr> Accumulated() const;

 private:
  loop::Type AccumulatorType() const;
  int64_t AccumulatorCount() const;
  loop::ExprPtr Slot(const std::vector<int>& indices) const;
  loop::StmtPtr SetAccumulator(const loop::ExprPtr& slot, loop::ExprPtr value) const;
  loop::ExprPtr GetAccumulator(const loop::ExprPtr& slot) const;

  loop::StmtPtr Loops(size_t level, bool checked) const;
  loop::StmtPtr Inner(bool checked) const;
  loop::StmtPtr InnerLanes(bool checked) const;
  loop::StmtPtr Accumulate(bool checked) const;
  loop::StmtPtr Update(const loop::ExprPtr& value) const;
  loop::ExprPtr Aggregate(const loop::ExprPtr& old, const loop::ExprPtr& value) const;
  // The elements of a tile that the work-item needs now, in an array of its own.
  std::vector<loop::StmtPtr> Hold(size_t stage) const;
  std::vector<loop::StmtPtr> HoldVectors(size_t stage, std::vector<int> indices) const;
  std::vector<loop::StmtPtr> GatherLanes(size_t stage, const std::vector<int>& indices) const;
  loop::ExprPtr Held(size_t stage) const;
  // The output indices along which a stage's elements differ within the work-item.
  std::vector<int> HeldIndices(size_t stage) const;
  bool HoldsAlongReduced(size_t stage) const;
  int HeldLanes(size_t stage) const;
  loop::ExprPtr StepIsInside() const;
  // An emitter of what a position adds; `checked`: which may be beyond a range. `prefix` begins the
  // names of its variables.
  ExprEmitter Emitter(bool checked, const IndexEmitter& indices, const std::string& prefix,
                      std::vector<loop::StmtPtr>* statements) const;
  loop::StmtPtr FetchAccess(int access) const;
  loop::ExprPtr Fetched(int access) const;
  loop::ExprPtr FetchedSlot(int access) const;

  GroupContext& context_;
  const std::vector<GroupStage>& stages_;
  std::vector<int> outputs_;  // the lane index last
  // Constraints that filling does not take care of.
  std::vector<math::RangeConstraint> unfilled_;
  const plan::Unrolling unrolling_;
  const std::vector<int> fetched_;
};

}  // namespace tartan::lower
