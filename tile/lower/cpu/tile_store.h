// SPDX-License-Identifier: Apache-2.0
// How the values of a register tile get to the outputs: as vectors where they are neighbours there,
// or those of two vectors interleaved are, else lane by lane.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/expr_emitter.h"
#include "tile/plan/cpu/cpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

class TileStore {
 public:
  // `indices` has the begins of the tile.
  TileStore(const poly::FlatContraction& flat, const plan::CpuPlan& plan,
            const IndexEmitter& indices);

  // All positions of the tile are stored into one block, from here on: vectors of elements two
  // apart wait for those between.
  void BeginTile();
  // One output's elements at a position: `lanes` of them. Declarations are appended to `before`.
  std::vector<loop::StmtPtr> Emit(size_t output, const Position& position, int lanes,
                                  const loop::ExprPtr& value, std::vector<loop::StmtPtr>* before);
  // Every position stands alone. Gives what is left to store of the tile, if anything is.
  std::vector<loop::StmtPtr> EndTile();

 private:
  // A vector whose lanes EndTile stores.
  struct Scattered {
    loop::ExprPtr index;  // of the first lane
    int64_t kept = 0;     // where it is in private memory
  };

  // Keeps the vector for EndTile.
  loop::StmtPtr Keep(DataType stored, const loop::ExprPtr& index, const loop::ExprPtr& vector,
                     int lanes, std::vector<loop::StmtPtr>* before);
  // The index whose two values in the tile lie between the lanes of a vector; -1: none.
  int IndexBetween() const;
  // The value as a variable, or as a scalar.
  loop::ExprPtr Named(size_t output, const loop::ExprPtr& value, int lanes,
                      std::vector<loop::StmtPtr>* before) const;
  std::vector<loop::StmtPtr> Interleaved(size_t output, const math::Affine& poly, int lanes,
                                         const loop::ExprPtr& even, const loop::ExprPtr& odd) const;
  // The last tile along the vectors is whole, or drawn back to the beginning of a line.
  bool EndsWithLine(DataType stored) const;
  // Vectors stored at the polynomial go past the caches: memory is what the kernel waits for, the
  // output is larger than caches are, whole lines are written one after the other, and vectors lie
  // on their boundaries.
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
