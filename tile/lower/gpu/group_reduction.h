// SPDX-License-Identifier: Apache-2.0
// The reduction within a work-group: accumulators in registers, operands from local or global
// memory, and a tree reduction if several work-items share an output element.
#pragma once

#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/gpu/group_context.h"
#include "tile/lower/gpu/group_stage.h"

namespace tartan::lower {

class GroupReduction {
 public:
  // `fetched`: accesses that Fetch reads in advance, completely for each work-item.
  GroupReduction(GroupContext& context, const std::vector<GroupStage>& stages,
                 std::vector<int> fetched = {});

  // Preloads the fetched accesses into registers, from which Step reads them.
  std::vector<loop::StmtPtr> Fetch() const;

  std::vector<loop::StmtPtr> DeclareAccumulators() const;
  // Multiplies all accumulators by their row's element of a local array; `row` is an output index
  // or -1.
  loop::StmtPtr Rescale(const std::string& array, int row) const;
  // Accumulates everything that the step's tiles contribute.
  loop::StmtPtr Step() const;
  // Adds up partial results; then the first of the work-items that share an element has the total.
  std::vector<loop::StmtPtr> ReducePartials() const;
  // The accumulators of the current position; vectors if the lane index is an output index.
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
  // Copies the elements of a tile that the work-item needs next into a private array.
  std::vector<loop::StmtPtr> Hold(size_t stage) const;
  std::vector<loop::StmtPtr> HoldVectors(size_t stage, std::vector<int> indices) const;
  std::vector<loop::StmtPtr> GatherLanes(size_t stage, const std::vector<int>& indices) const;
  loop::ExprPtr Held(size_t stage) const;
  // The output indices along which a stage's elements differ within the work-item.
  std::vector<int> HeldIndices(size_t stage) const;
  bool HoldsAlongReduced(size_t stage) const;
  int HeldLanes(size_t stage) const;
  loop::ExprPtr StepIsInside() const;
  // Emits a position's contribution. `checked`: the position may be out of range. `prefix` begins
  // the names of its variables.
  ExprEmitter Emitter(bool checked, const IndexEmitter& indices, const std::string& prefix,
                      std::vector<loop::StmtPtr>* statements) const;
  loop::StmtPtr FetchAccess(int access) const;
  loop::ExprPtr Fetched(int access) const;
  loop::ExprPtr FetchedSlot(int access) const;

  GroupContext& context_;
  const std::vector<GroupStage>& stages_;
  std::vector<int> outputs_;  // the lane index last
  // Constraints that filling the tiles with the neutral value does not cover.
  std::vector<math::RangeConstraint> unfilled_;
  const plan::Unrolling unrolling_;
  const std::vector<int> fetched_;
};

}  // namespace tartan::lower
