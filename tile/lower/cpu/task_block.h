// SPDX-License-Identifier: Apache-2.0
// Cache blocking within a task (plan::BlockPlan): splits the reduction into K chunks, copies
// operands into private memory, and keeps partial results between chunks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/emit/expr_emitter.h"
#include "tile/plan/cpu/block_layout.h"
#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

class TaskBlock : IndexBuilder {
 public:
  // Requires plan.block. `names` are the names of the loop variables.
  TaskBlock(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
            const IndexEmitter& indices, const std::vector<std::string>& names);

  // The range of the work-item's task along an output index.
  struct Task {
    loop::ExprPtr begin, end;
  };

  // Declares the private arrays.
  std::vector<loop::StmtPtr> Arrays() const;
  // For each K chunk: copies operands, then runs the statements that `tiles` returns. `indices` has
  // the values of the outer loops.
  loop::StmtPtr Emit(const std::vector<Task>& tasks, const std::function<loop::StmtPtr()>& tiles);

  // Sets the tile that the functions below refer to: it begins `offset` values into the task.
  void SetOffset(int index, loop::ExprPtr offset) { offsets_[index] = std::move(offset); }
  // Declares the offsets of the tile's values in the arrays.
  std::vector<loop::StmtPtr> Places() const;
  // Maps each staged access to its read from the array.
  std::map<int, StagedRead> Reads() const;
  // The first value, and one past the last, of a reduced index within the K chunk.
  loop::ExprPtr Begin(int index) const;
  loop::ExprPtr End(int index) const;

  bool has_chunks() const { return block_.chunk_index >= 0; }
  loop::ExprPtr IsFirstChunk() const;
  loop::ExprPtr IsLastChunk() const;
  // Resume loads accumulators at the tile's positions from memory, except in the first chunk;
  // Suspend stores them.
  loop::StmtPtr Resume(const std::vector<Position>& positions,
                       const std::vector<std::string>& accumulators) const;
  std::vector<loop::StmtPtr> Suspend(const std::vector<Position>& positions,
                                     const std::vector<std::string>& accumulators) const;

 private:
  friend class StagedCopy;
  struct Staged {
    int access = 0;
    std::string array;
    DataType type = DataType::kInvalid;  // element type of the array
    math::Affine from;                   // position in the tensor
    plan::BlockArray layout;
    int neighbours = -1;  // plan::ContiguousRows: the index of rows stored side by side, or -1
  };

  bool IsRagged() const;
  // The offset in an array of the tile with the given offsets.
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
