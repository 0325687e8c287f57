// SPDX-License-Identifier: Apache-2.0
// Emits the reduction loops of a CPU kernel for one register tile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/cpu/chunk_factor.h"
#include "tile/lower/cpu/sum_chunks.h"
#include "tile/lower/cpu/task_block.h"
#include "tile/lower/emit/expr_emitter.h"
#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

class Reduction {
 public:
  // `indices` has the first values of the tile along the output indices; `names` are the names of
  // the loop variables. `block` is the plan's cache block, or null.
  Reduction(const poly::FlatContraction& flat, const plan::CpuPlan& plan, IndexEmitter& indices,
            const std::vector<std::string>& names, const TaskBlock* block = nullptr);

  // Constraints that hold in the tiles emitted from now on.
  void Assume(std::vector<math::RangeConstraint> constraints) { assumed_ = std::move(constraints); }
  // Declares the accumulators and aggregates into them. With K chunks (TaskBlock), the sums
  // continue from the previous chunk.
  std::vector<loop::StmtPtr> Emit();
  // The parts of Emit for a caller that writes the loop itself: the only reduced index is the
  // vector index, and there are no constraints. DeclareAccumulators comes before the loop,
  // AggregateTile computes the tile at the current value of the index, and AggregateTail aggregates
  // the elements that fill no tile. If chunk_steps() > 0, the loop is split into chunks of
  // chunk_steps() steps, each between BeginChunk and EndChunk.
  std::vector<loop::StmtPtr> DeclareAccumulators() const;
  int64_t chunk_steps() const { return chunks_.steps; }
  std::vector<loop::StmtPtr> BeginChunk();
  loop::StmtPtr AggregateTile() { return Accumulate(false, false); }
  std::vector<loop::StmtPtr> EndChunk();
  loop::StmtPtr AggregateTail();
  // Stores the accumulators for the next K chunk.
  std::vector<loop::StmtPtr> Suspend() const;
  // The aggregated value at an output position of the tile, a vector where the vector index is an
  // output index. Declarations it needs are appended to `block`.
  loop::ExprPtr Total(int output_position, std::vector<loop::StmtPtr>* block) const;
  // True where some point was valid; with flat.needs_hits().
  loop::ExprPtr Hit() const;

 private:
  bool VectorIsReduced() const;
  bool HasTail() const;
  int64_t partials() const;
  loop::Type AccumulatorType(bool is_tail) const;
  std::string AccumulatorName(size_t position, int64_t partial, bool is_tail) const;
  std::vector<std::string> AccumulatorNames() const;
  // The accumulators of the tile (depth_ 0) or of the current summation chunk (depth_ 1 or 2).
  struct Accumulator {
    std::string name;
    loop::Type type;
  };
  std::vector<Accumulator> Accumulators(bool with_tails) const;
  std::vector<loop::StmtPtr> Declare(const std::vector<Accumulator>& accumulators) const;
  std::vector<loop::StmtPtr> BeginChunk(bool with_tails);
  std::vector<loop::StmtPtr> EndChunk(bool with_tails);
  // Adds a chunk's sums, multiplied by the chunk's factor, to the accumulators of the tile.
  std::vector<loop::StmtPtr> EndScaledChunk();

  loop::StmtPtr Loops(int level, bool checked);
  loop::StmtPtr Loop(int level, bool checked);
  // The loop of a level from `begin` to `end` with the given step; split into summation chunks if
  // the level is chunks_.level.
  loop::StmtPtr Steps(int level, bool checked, const loop::ExprPtr& begin, const loop::ExprPtr& end,
                      int64_t step);
  // Length of the block's K chunks of the index; 0: the block has no chunks of it.
  int64_t BlockChunk(int i) const {
    return plan_.block && plan_.block->chunk_index == i ? plan_.block->chunk_length : 0;
  }
  bool ChunksDivide(int i, int64_t length) const;
  // The loop of a level in chunks whose length and number are arguments.
  loop::StmtPtr ChunksOfAnyLength(int level, bool checked, const loop::ExprPtr& end,
                                  int64_t length);
  // Steps per chunk of the loop at chunks_.level, for the current depth_; 0: not divided further.
  int64_t StepsPerChunk() const;
  // A point of the tile: an output position, values of unrolled indices, and a partial result.
  struct Point {
    Position position;
    std::string accumulator;
  };
  std::vector<Point> Points(bool is_tail) const;
  void GroupBySharedElement(std::vector<Point>* points) const;
  void OrderRowsOutermost(std::vector<Point>* points) const;
  loop::StmtPtr Accumulate(bool checked, bool is_tail);
  // The body at a point, or the aggregation's identity where the open constraints do not hold.
  loop::ExprPtr Checked(const Position& position,
                        const std::vector<math::RangeConstraint>& constraints,
                        ExprEmitter* emitter) const;
  // The value at a point whose constraints `decided` are known at compile time; null if no lane
  // satisfies them.
  loop::ExprPtr Decided(const Position& position, const VectorShape& vector,
                        const std::vector<math::RangeConstraint>& decided,
                        const std::vector<math::RangeConstraint>& others, ExprEmitter* emitter,
                        ExprEmitter* careful) const;
  const poly::ExprPtr& Body() const { return factor_ ? factor_->rest : flat_.body; }
  loop::ExprPtr Aggregate(const loop::ExprPtr& old, const loop::ExprPtr& value) const;
  int LevelOf(const math::RangeConstraint& constraint) const;
  bool DependsOnTile(const math::RangeConstraint& constraint) const;
  // The constraints of the tile that Assume does not cover.
  std::vector<math::RangeConstraint> OpenConstraints() const;

  const poly::FlatContraction& flat_;
  const plan::CpuPlan& plan_;
  IndexEmitter& indices_;
  const std::vector<std::string>& names_;
  const TaskBlock* const block_;
  std::vector<Position> positions_;  // over the output indices
  std::vector<math::RangeConstraint> tile_constraints_;
  std::vector<math::RangeConstraint> assumed_;
  int tile_level_ = -1;  // the loop level at which all tile_constraints_ can be evaluated
  const SumChunks chunks_;
  const std::optional<ChunkFactor> factor_;  // of a summation chunk; nothing: none
  int depth_ = 0;  // 1 while a chunk's code is emitted, 2 within a chunk of a chunk
};

// The positions of a plan's register tile over output indices, the vector index varying fastest.
std::vector<Position> OutputPositions(const poly::FlatContraction& flat, const plan::CpuPlan& plan);

// The identity element of the aggregation.
loop::ExprPtr Identity(Aggregation aggregation, DataType type);

// The conjunction of the constraints; null if none needs a check.
loop::ExprPtr All(const IndexEmitter& indices,
                  const std::vector<math::RangeConstraint>& constraints);

}  // namespace tartan::lower
