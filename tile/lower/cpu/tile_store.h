// SPDX-License-Identifier: Apache-2.0
// Stores a register tile: as vectors if elements are adjacent in the output, or if two interleaved
// vectors are; otherwise lane by lane.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/emit/expr_emitter.h"
#include "tile/plan/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

class TileStore {
 public:
  // `indices` has the first values of the tile.
  TileStore(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
            const IndexEmitter& indices);

  // Begins a block into which all positions of the tile are stored, so that vectors with stride 2
  // can wait for the elements between and be interleaved.
  void BeginTile();
  // Stores `lanes` elements of one output at a position. Declarations are appended to `before`.
  std::vector<loop::StmtPtr> Emit(size_t output, const Position& position, int lanes,
                                  const loop::ExprPtr& value, std::vector<loop::StmtPtr>* before);
  // Ends BeginTile; returns the stores that are still pending.
  std::vector<loop::StmtPtr> EndTile();

 private:
  // A vector whose lanes EndTile stores.
  struct Scattered {
    loop::ExprPtr index;  // of the first lane
    int64_t kept = 0;     // its offset in the private array of kept vectors
  };

  // Keeps the vector until EndTile.
  loop::StmtPtr Keep(DataType stored, const loop::ExprPtr& index, const loop::ExprPtr& vector,
                     int lanes, std::vector<loop::StmtPtr>* before);
  // The index whose two values in the tile are interleaved in memory with the vector's lanes; -1:
  // none.
  int IndexBetween() const;
  // The value in a variable, or as a scalar.
  loop::ExprPtr Named(size_t output, const loop::ExprPtr& value, int lanes,
                      std::vector<loop::StmtPtr>* before) const;
  std::vector<loop::StmtPtr> Interleaved(size_t output, const math::Affine& poly, int lanes,
                                         const loop::ExprPtr& even, const loop::ExprPtr& odd) const;
  // The last tile along the vector index is complete, or the overlapping last tile begins on a
  // cache line.
  bool EndsWithLine(DataType stored) const;
  // Returns whether vectors at this address use non-temporal stores: the kernel is memory-bound,
  // the output is larger than the caches, whole lines are written in order, and vectors are
  // aligned.
  bool IsStreamed(size_t output, const math::Affine& poly) const;

  const poly::FlatContraction& flat_;
  const plan::CpuPlan& plan_;
  const IndexEmitter& indices_;
  poly::FlatAccess output_poly_;
  const int between_;
  const bool loops_over_lanes_;  // plan/cpu/lane_stores.h
  bool is_tile_ = false;
  std::vector<Scattered> scattered_;
  std::map<std::pair<size_t, Position>, loop::ExprPtr> waiting_;  // by output and position
};

}  // namespace tartan::lower
