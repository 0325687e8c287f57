// SPDX-License-Identifier: Apache-2.0
// A tile of one access in local memory: how the work-items of a group copy it there, and how they
// read it.
#pragma once

#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/gpu/group_context.h"
#include "tile/plan/gpu/gpu_plan.h"

namespace tartan::lower {

class GroupStage {
 public:
  GroupStage(const GroupContext& context, const plan::StagedAccess& access);

  int access() const { return access_.access; }
  const plan::StagedAccess& plan() const { return access_; }
  DataType type() const { return type_; }

  loop::StmtPtr DeclareTile() const;
  // What depends on the work-item alone.
  std::vector<loop::StmtPtr> DeclareShare() const;

  // Memory to local memory. Bases have `suffix` in their names.
  loop::StmtPtr Copy(const std::string& suffix) const;
  // The same in two parts, through variables of the work-item.
  loop::StmtPtr DeclareNext() const;
  loop::StmtPtr Fetch(const std::string& suffix) const;
  loop::StmtPtr Put() const;
  // With several sets of tiles: memory to that of a step, by copies that pass no register; and
  // where the work-item reads in the one of this step.
  loop::StmtPtr CopyAhead(const loop::ExprPtr& step, const std::string& suffix) const;
  loop::StmtPtr DeclareNow(const loop::ExprPtr& step) const;

  // The work-item's elements at its current position: `lanes` neighbours along the plan's vector
  // index.
  loop::ExprPtr Read(int lanes) const;
  // The element so far from there.
  loop::ExprPtr ReadAt(const loop::ExprPtr& distance) const;

 private:
  struct Element {
    loop::ExprPtr from;    // in memory
    loop::ExprPtr to;      // in the tile
    loop::ExprPtr slot;    // among the work-item's own
    loop::ExprPtr within;  // the element is one of the tile; null: true
    loop::ExprPtr valid;   // it is not to be filled in; null: true
    loop::ExprPtr inside;  // it is one of the tensor, not another's place; null: true
  };
  template <class Body>
  loop::StmtPtr ForEachElement(const std::string& suffix, bool fills_tile, Body body) const;
  loop::StmtPtr DeclareAt() const;
  loop::ExprPtr At() const;
  loop::ExprPtr SetBegin(const loop::ExprPtr& step) const;
  loop::ExprPtr ReadFrom(loop::ExprPtr begin, int lanes) const;
  loop::ExprPtr Position(size_t dim) const;
  loop::ExprPtr From(const std::string& suffix) const;
  loop::ExprPtr Clamped(loop::ExprPtr index) const;
  loop::ExprPtr Valid(const math::RangeConstraint& constraint, const std::string& suffix) const;
  loop::ExprPtr Loaded(const Element& element, const std::string& suffix,
                       std::vector<loop::StmtPtr>* statements) const;
  loop::StmtPtr StoreToTile(const loop::ExprPtr& to, const loop::ExprPtr& value,
                            const std::string& suffix) const;
  std::string Name(const char* what) const;
  std::string Tensor() const;  // the parameter that is read
  std::string RoundName(size_t dim) const;
  loop::ExprPtr Round(size_t dim) const;

  const GroupContext& context_;
  const plan::StagedAccess& access_;
  const plan::TileLayout& layout_;
  poly::FlatAccess flat_;
  std::vector<math::RangeConstraint> constraints_;
  DataType stored_;
  DataType type_;      // in local memory
  int64_t count_ = 0;  // elements of the tensor
  int lanes_ = 1;      // loaded at once
  int lane_dim_ = -1;
  bool stores_vectors_ = false;  // the lanes are neighbours in the tile, too
};

}  // namespace tartan::lower
