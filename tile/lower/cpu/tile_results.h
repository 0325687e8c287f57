// SPDX-License-Identifier: Apache-2.0
// The outputs of a register tile: what is made of its elements or of what was aggregated, and its
// stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/cpu/reduction.h"
#include "tile/lower/cpu/tile_store.h"
#include "tile/lower/expr_emitter.h"
#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

class TileResults {
 public:
  // `indices` has the begins of the tile. `reduction` is that of the kernel, or null. All outlive
  // the object.
  TileResults(const poly::FlatContraction& flat, const plan::CpuPlan& plan, IndexEmitter& indices,
              Reduction* reduction);

  // For the tile where `indices` is. Where conditions on the outputs differ between lanes, the
  // tiles in which all of them hold are computed in vectors, the others lane by lane.
  loop::StmtPtr Emit();

 private:
  loop::ExprPtr Number(int64_t value) const { return indices_.Number(value); }
  loop::Type IndexType() const { return {indices_.type(), 1}; }
  // The vectors that outputs are computed in.
  VectorShape VectorOutput() const;
  std::vector<math::RangeConstraint> ConstraintsThatVaryByLane() const;
  // They hold at every element of the tile.
  loop::ExprPtr HoldsAllOver(const std::vector<math::RangeConstraint>& constraints) const;
  Position LastPosition() const;
  loop::StmtPtr StoreTile(const std::vector<math::RangeConstraint>& assumed, bool is_inside);
  // Sizes of the tile within which squares can be loaded.
  std::vector<int64_t> WholeTile() const;
  // One position of the tile, where the guard lets it be stored; outside nothing is read either.
  loop::StmtPtr StoreGuarded(size_t p);
  // Lane by lane, each stored where it may be.
  loop::StmtPtr StoreLanes();
  // Elementwise tiles of kernels whose sizes are arguments: the indices along which there may be
  // fewer elements than a tile has.
  std::vector<int> MayBeShort() const;
  // The elements that there are of such a tile, one by one.
  loop::StmtPtr StoreElements(const std::vector<int>& may_be_short);
  // Computes the outputs at a position and stores them.
  void StorePosition(size_t p, int lanes, loop::ExprPtr total, ExprEmitter* emitter,
                     std::vector<loop::StmtPtr>* statements);
  loop::ExprPtr GuardAt(const Position& position) const;
  void CountRoots(ExprEmitter* emitter) const;
  // The aggregated value, with that of elements without a valid point put in.
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
