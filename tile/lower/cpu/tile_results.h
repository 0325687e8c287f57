// SPDX-License-Identifier: Apache-2.0
// Emits the epilogue of a register tile: computes the outputs from the accumulators or, in
// elementwise kernels, from the inputs, and stores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/cpu/reduction.h"
#include "tile/lower/cpu/tile_store.h"
#include "tile/lower/emit/expr_emitter.h"
#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

class TileResults : IndexBuilder {
 public:
  // `indices` has the first values of the tile. `reduction` is the kernel's, or null. All outlive
  // the object.
  TileResults(const poly::FlatContraction& flat, const plan::CpuPlan& plan, IndexEmitter& indices,
              Reduction* reduction);

  // Emits the tile at the current values of `indices`. If output conditions differ between lanes,
  // tiles in which all hold use vectors; the others are computed lane by lane.
  loop::StmtPtr Emit();

 private:
  // The vector shape in which outputs are computed.
  VectorShape VectorOutput() const;
  std::vector<math::RangeConstraint> ConstraintsThatVaryByLane() const;
  Position LastPosition() const;
  loop::StmtPtr StoreTile(const std::vector<math::RangeConstraint>& assumed, bool is_inside);
  // Tile sizes that are always complete, so that square blocks of them may be loaded and
  // transposed.
  std::vector<int64_t> WholeTile() const;
  // Stores one position if its guard holds; otherwise nothing is read either.
  loop::StmtPtr StoreGuarded(size_t p);
  // Stores lane by lane, each if its guard holds.
  loop::StmtPtr StoreLanes();
  // For elementwise kernels whose sizes are arguments: the indices along which there may be fewer
  // elements than the tile has.
  std::vector<int> MayBeShort() const;
  // Stores the existing elements of such a tile one by one.
  loop::StmtPtr StoreElements(const std::vector<int>& may_be_short);
  // Computes the outputs at a position and stores them.
  void StorePosition(size_t p, int lanes, loop::ExprPtr total, ExprEmitter* emitter,
                     std::vector<loop::StmtPtr>* statements);
  loop::ExprPtr GuardAt(const Position& position) const;
  void CountRoots(ExprEmitter* emitter) const;
  // The aggregated value, or the default value for elements without a valid point.
  loop::ExprPtr Result(loop::ExprPtr value, size_t position, ExprEmitter* emitter,
                       std::vector<loop::StmtPtr>* statements) const;

  const poly::FlatContraction& flat_;
  const plan::CpuPlan& plan_;
  IndexEmitter& indices_;
  Reduction* const reduction_;
  const std::vector<Position> positions_;
  TileStore store_;
};

}  // namespace tartan::lower
