// SPDX-License-Identifier: Apache-2.0
// A tile of one access in local memory: how the work-items of a work-group copy it there
// (cooperative load), and how they read it.
#pragma once

#include <string>
#include <vector>

#include "tile/loop/loop_ir.h"
#include "tile/lower/gpu/group_context.h"
#include "tile/plan/gpu_plan.h"

namespace tartan::lower {

class GroupStage {
 public:
  GroupStage(const GroupContext& context, const plan::StagedAccess& access);

  int access() const { return access_.access; }
  const plan::StagedAccess& plan() const { return access_; }
  DataType type() const { return type_; }

  loop::StmtPtr DeclareTile() const;
  // Declares what depends on the work-item alone.
  std::vector<loop::StmtPtr> DeclareShare() const;

  // Copies from global to local memory. `suffix` ends the names of the bases.
  loop::StmtPtr Copy(const std::string& suffix) const;
  // The same copy in two parts, through the work-item's registers: Fetch, then Put.
  loop::StmtPtr DeclareNext() const;
  loop::StmtPtr Fetch(const std::string& suffix) const;
  loop::StmtPtr Put() const;
  // For software pipelining with several tile buffers: StartAsyncCopy starts an asynchronous copy
  // into the buffer of a step, and DeclareNow declares where the work-item reads in the buffer of
  // this step.
  loop::StmtPtr StartAsyncCopy(const loop::ExprPtr& step, const std::string& suffix) const;
  loop::StmtPtr DeclareNow(const loop::ExprPtr& step) const;

  // The work-item's elements at its current position: `lanes` adjacent ones along the plan's vector
  // index.
  loop::ExprPtr Read(int lanes) const;
  // The element at `distance` from the work-item's first one.
  loop::ExprPtr ReadAt(const loop::ExprPtr& distance) const;

 private:
  struct Element {
    loop::ExprPtr from;    // address in global memory
    loop::ExprPtr to;      // offset in the tile
    loop::ExprPtr slot;    // number among the work-item's own elements
    loop::ExprPtr within;  // the element belongs to the tile; null: always
    loop::ExprPtr valid;   // the element is loaded rather than filled; null: always
    loop::ExprPtr inside;  // the address is within the tensor; null: always
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
  std::string Tensor() const;  // the name of the parameter that is read
  std::string RoundName(size_t dim) const;
  loop::ExprPtr Round(size_t dim) const;
  int64_t VectorStride(size_t dim) const;

  const GroupContext& context_;
  const plan::StagedAccess& access_;
  const plan::TileLayout& layout_;
  poly::FlatAccess flat_;
  std::vector<math::RangeConstraint> constraints_;
  DataType stored_;
  DataType type_;      // in local memory
  int64_t count_ = 0;  // elements of the tensor
  int lanes_ = 1;      // elements per load
  int lane_dim_ = -1;
  bool stores_vectors_ = false;  // the lanes are adjacent in the tile, too
  int64_t padding_ = 0;          // plan::BankPadding, after each vector along lane_dim_
};

}  // namespace tartan::lower
