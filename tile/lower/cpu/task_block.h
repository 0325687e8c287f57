// SPDX-License-Identifier: Apache-2.0
// The block of a work-item's loops that a plan gives private memory (plan::BlockPlan): its runs,
// copies of operands, and partial results between runs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/expr_emitter.h"
#include "tile/plan/cpu/block_layout.h"
#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

class TaskBlock {
 public:
  // Requires: plan.block. `names` are those of loop variables.
  TaskBlock(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
            const IndexEmitter& indices, const std::vector<std::string>& names);

  // Where the work-item's task begins and ends along an output index.
  struct Task {
    loop::ExprPtr begin, end;
  };

  // Declares the private arrays.
  std::vector<loop::StmtPtr> Arrays() const;
  // For each run: copies, then what `tiles` makes. `indices` has the values of the loops outside.
  loop::StmtPtr Emit(const std::vector<Task>& tasks, const std::function<loop::StmtPtr()>& tiles);

  // The rest is for a tile, which begins `offset` values into the task along an output index.
  void SetOffset(int index, loop::ExprPtr offset) { offsets_[index] = std::move(offset); }
  // Declares where the tile's values lie in the arrays.
  std::vector<loop::StmtPtr> Places() const;
  // How a staged access is read, by access.
  std::map<int, StagedRead> Reads() const;
  // First value, and one past the last, of a
  // reduced index within the run.
  loop::ExprPtr Begin(int index) const;
  loop::ExprPtr End(int index) const;

  bool has_runs() const { return block_.run_index >= 0; }
  loop::ExprPtr IsFirstRun() const;
  loop::ExprPtr IsLastRun() const;
  // Accumulators at the tile's positions from memory, but for the first run, and to memory.
  loop::StmtPtr Resume(const std::vector<Position>& positions,
                       const std::vector<std::string>& accumulators) const;
  std::vector<loop::StmtPtr> Suspend(const std::vector<Position>& positions,
                                     const std::vector<std::string>& accumulators) const;

 private:
  friend class StagedCopy;
  struct Staged {
    int access = 0;
    std::string array;
    DataType type = DataType::kInvalid;  // of the array's elements
    math::Affine from;                   // position in the tensor
    plan::BlockArray layout;
    int neighbours = -1;  // rows that lie side by side (plan::NeighbourRows)
  };

  loop::ExprPtr Number(int64_t value) const { return indices_.Number(value); }
  loop::Type IndexType() const { return {indices_.type(), 1}; }
  bool IsRagged() const;
  // Where the tile lies whose offsets are given.
  loop::ExprPtr PlaceOf(const plan::BlockArray& array,
                        const std::vector<loop::ExprPtr>& offsets) const;
  loop::StmtPtr Fill(const Staged& staged, const std::vector<Task>& tasks) const;

  const poly::FlatContraction& flat_;
  const plan::CpuPlan& plan_;
  const plan::BlockPlan& block_;
  const IndexEmitter& indices_;
  const std::vector<std::string>& names_;
  plan::BlockArray partials_;
  std::vector<Staged> staged_;
  std::vector<loop::ExprPtr> offsets_;  // per output index
};

}  // namespace tartan::lower
