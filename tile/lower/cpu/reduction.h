// SPDX-License-Identifier: Apache-2.0
// The aggregation of a kernel over its reduced indices, for one register tile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/cpu/run_factor.h"
#include "tile/lower/cpu/sum_runs.h"
#include "tile/lower/cpu/task_block.h"
#include "tile/lower/expr_emitter.h"
#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

class Reduction {
 public:
  // `indices` has the begins of the tile along the output indices; `names` are those of loop
  // variables. `block` is that of the plan, or null.
  Reduction(const poly::FlatContraction& flat, const plan::CpuPlan& plan, IndexEmitter& indices,
            const std::vector<std::string>& names, const TaskBlock* block = nullptr);

  // Constraints that hold in the tiles emitted from now on.
  void Assume(std::vector<math::RangeConstraint> constraints) { assumed_ = std::move(constraints); }
  // Declares the accumulators and aggregates into them, in runs from where the last one stopped.
  std::vector<loop::StmtPtr> Emit();
  // The parts of Emit for the loop over the only reduced index, which is the vector index, written
  // by others: what is before it, what is done for the tile where `indices` has that index, and the
  // elements that fill no tile. Without constraints. Where run_steps() > 0 the loop is in runs of
  // so many steps, with something before and after each.
  std::vector<loop::StmtPtr> DeclareAccumulators() const;
  int64_t run_steps() const { return runs_.steps; }
  std::vector<loop::StmtPtr> BeginRun();
  loop::StmtPtr AggregateTile() { return Accumulate(false, false); }
  std::vector<loop::StmtPtr> EndRun();
  loop::StmtPtr AggregateTail();
  // Keeps the accumulators for the next run.
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
  // Those of the tile or, at another depth, of the run.
  struct Accumulator {
    std::string name;
    loop::Type type;
  };
  std::vector<Accumulator> Accumulators(bool with_tails) const;
  std::vector<loop::StmtPtr> Declare(const std::vector<Accumulator>& accumulators) const;
  std::vector<loop::StmtPtr> BeginRun(bool with_tails);
  std::vector<loop::StmtPtr> EndRun(bool with_tails);
  // Adds a run's sums times their factor.
  std::vector<loop::StmtPtr> EndScaledRun();

  loop::StmtPtr Loops(int level, bool checked);
  loop::StmtPtr Loop(int level, bool checked);
  // The loop of a level from `begin` to `end`, `step` values at a time; in runs where it is that of
  // runs_.
  loop::StmtPtr Steps(int level, bool checked, const loop::ExprPtr& begin, const loop::ExprPtr& end,
                      int64_t step);
  bool RunsDivide(int i, int64_t length) const;
  // Of the level of runs_, at depth_; 0 where nothing is divided any more.
  loop::StmtPtr RunsOfAnyLength(int level, bool checked, const loop::ExprPtr& end, int64_t length);
  int64_t StepsInRun() const;
  // A point of the tile: an output position, values of unrolled indices, and a partial result.
  struct Point {
    Position position;
    std::string accumulator;
  };
  std::vector<Point> Points(bool is_tail) const;
  void PutNextToEachOther(std::vector<Point>* points) const;
  void PutRowsOutside(std::vector<Point>* points) const;
  loop::StmtPtr Accumulate(bool checked, bool is_tail);
  // The body at a point, the identity where the open constraints do not hold.
  loop::ExprPtr Checked(const Position& position,
                        const std::vector<math::RangeConstraint>& constraints,
                        ExprEmitter* emitter) const;
  // The same where constraints are decided; null where they hold nowhere.
  loop::ExprPtr Decided(const Position& position, const VectorShape& vector,
                        const std::vector<math::RangeConstraint>& decided,
                        const std::vector<math::RangeConstraint>& others, ExprEmitter* emitter,
                        ExprEmitter* careful) const;
  const poly::ExprPtr& Body() const { return factor_ ? factor_->rest : flat_.body; }
  loop::ExprPtr Aggregate(const loop::ExprPtr& old, const loop::ExprPtr& value) const;
  int LevelOf(const math::RangeConstraint& constraint) const;
  bool DependsOnTile(const math::RangeConstraint& constraint) const;
  // Holds at every position of the tile.
  loop::ExprPtr HoldsEverywhere(const std::vector<math::RangeConstraint>& constraints) const;
  // Those of the tile that are not assumed.
  std::vector<math::RangeConstraint> OpenConstraints() const;

  const poly::FlatContraction& flat_;
  const plan::CpuPlan& plan_;
  IndexEmitter& indices_;
  const std::vector<std::string>& names_;
  const TaskBlock* const block_;
  std::vector<Position> positions_;  // over the output indices
  std::vector<math::RangeConstraint> tile_constraints_;
  std::vector<math::RangeConstraint> assumed_;
  int tile_level_ = -1;  // the level at which all of them are known
  const SumRuns runs_;
  const std::optional<RunFactor> factor_;  // of runs
  int depth_ = 0;                          // 1 while a run's code is made, 2 within a run of a run
};

// The positions of a plan's register tile over output indices, the vector index varying fastest.
std::vector<Position> OutputPositions(const poly::FlatContraction& flat, const plan::CpuPlan& plan);

// The value that changes nothing when aggregated.
loop::ExprPtr Identity(Aggregation aggregation, DataType type);

// The conjunction; null where nothing is to be checked.
loop::ExprPtr All(const IndexEmitter& indices,
                  const std::vector<math::RangeConstraint>& constraints);

}  // namespace tartan::lower
