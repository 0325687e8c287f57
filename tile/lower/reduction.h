// The aggregation of a kernel over its reduced indices, for one register tile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tile/lower/expr_emitter.h"
#include "tile/lower/sum_runs.h"
#include "tile/lower/task_block.h"
#include "tile/plan/kernel_plan.h"
#include "tile/poly/flat_contraction.h"
#include "tile/sem/sem.h"

namespace tartan::lower {

class Reduction {
 public:
  // `indices` has the begins of the tile along the output indices; `names` are those of loop
  // variables. `block` is that of the plan, or null.
  Reduction(const poly::FlatContraction& flat, const plan::KernelPlan& plan, IndexEmitter& indices,
            const std::vector<std::string>& names, const TaskBlock* block = nullptr);

  // Constraints that hold in the tiles emitted from now on.
  void Assume(std::vector<math::RangeConstraint> constraints) { assumed_ = std::move(constraints); }
  // Declares the accumulators and aggregates into them, in runs from where the last one stopped.
  std::vector<sem::StmtPtr> Emit();
  // The parts of Emit for the loop over the only reduced index, which is the vector index, written
  // by others: what is before it, what is done for the tile where `indices` has that index, and the
  // elements that fill no tile. Without constraints.
  std::vector<sem::StmtPtr> DeclareAccumulators() const;
  sem::StmtPtr AggregateTile() { return Accumulate(false, false); }
  sem::StmtPtr AggregateTail();
  // Keeps the accumulators for the next run.
  std::vector<sem::StmtPtr> Suspend() const;
  // The aggregated value at an output position of the tile, a vector where the vector index is an
  // output index. Declarations it needs are appended to `block`.
  sem::ExprPtr Total(int output_position, std::vector<sem::StmtPtr>* block) const;
  // True where some point was valid; with flat.needs_hits().
  sem::ExprPtr Hit() const;

 private:
  bool VectorIsReduced() const;
  bool HasTail() const;
  int64_t partials() const;
  sem::Type AccumulatorType(bool is_tail) const;
  std::string AccumulatorName(size_t position, int64_t partial, bool is_tail) const;
  std::vector<std::string> AccumulatorNames() const;
  // Those of the tile or, while a run's code is made, of the run.
  struct Accumulator {
    std::string name;
    sem::Type type;
  };
  std::vector<Accumulator> Accumulators(bool with_tails) const;
  std::vector<sem::StmtPtr> Declare(const std::vector<Accumulator>& accumulators) const;

  sem::StmtPtr Loops(int level, bool checked);
  sem::StmtPtr Loop(int level, bool checked);
  // The loop of a level from `begin` to `end`, `step` values at a time; in runs where it is that of
  // runs_.
  sem::StmtPtr Steps(int level, bool checked, const sem::ExprPtr& begin, const sem::ExprPtr& end,
                     int64_t step);
  bool RunsDivide(int i, int64_t length) const;
  // A point of the tile: an output position, values of unrolled indices, and a partial result.
  struct Point {
    Position position;
    std::string accumulator;
  };
  std::vector<Point> Points(bool is_tail) const;
  void PutNextToEachOther(std::vector<Point>* points) const;
  sem::StmtPtr Accumulate(bool checked, bool is_tail);
  // The body at a point, the identity where the open constraints do not hold.
  sem::ExprPtr Checked(const Position& position,
                       const std::vector<math::RangeConstraint>& constraints,
                       ExprEmitter* emitter) const;
  // The same where constraints are decided; null where they hold nowhere.
  sem::ExprPtr Decided(const Position& position, const VectorShape& vector,
                       const std::vector<math::RangeConstraint>& decided,
                       const std::vector<math::RangeConstraint>& others, ExprEmitter* emitter,
                       ExprEmitter* careful) const;
  sem::ExprPtr Aggregate(const sem::ExprPtr& old, const sem::ExprPtr& value) const;
  int LevelOf(const math::RangeConstraint& constraint) const;
  bool DependsOnTile(const math::RangeConstraint& constraint) const;
  // Holds at every position of the tile.
  sem::ExprPtr HoldsEverywhere(const std::vector<math::RangeConstraint>& constraints) const;
  // Those of the tile that are not assumed.
  std::vector<math::RangeConstraint> OpenConstraints() const;

  const poly::FlatContraction& flat_;
  const plan::KernelPlan& plan_;
  IndexEmitter& indices_;
  const std::vector<std::string>& names_;
  const TaskBlock* const block_;
  std::vector<Position> positions_;  // over the output indices
  std::vector<math::RangeConstraint> tile_constraints_;
  std::vector<math::RangeConstraint> assumed_;
  int tile_level_ = -1;  // the level at which all of them are known
  const SumRuns runs_;
  bool in_run_ = false;
};

// The positions of a plan's register tile over output indices, the vector index varying fastest.
std::vector<Position> OutputPositions(const poly::FlatContraction& flat,
                                      const plan::KernelPlan& plan);

// The value that changes nothing when aggregated.
sem::ExprPtr Identity(Aggregation aggregation, DataType type);

// The conjunction; null where nothing is to be checked.
sem::ExprPtr All(const IndexEmitter& indices,
                 const std::vector<math::RangeConstraint>& constraints);

}  // namespace tartan::lower
