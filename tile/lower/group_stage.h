// A tile of one access in local memory: how the work-items of a group copy it there, and how they
// read it.
#pragma once

#include <string>
#include <vector>

#include "tile/lower/group_context.h"
#include "tile/plan/group_plan.h"
#include "tile/sem/sem.h"

namespace tartan::lower {

class GroupStage {
 public:
  GroupStage(const GroupContext& context, const plan::StagedAccess& access);

  int access() const { return access_.access; }
  const plan::StagedAccess& plan() const { return access_; }
  DataType type() const { return type_; }

  sem::StmtPtr DeclareTile() const;
  // What depends on the work-item alone.
  std::vector<sem::StmtPtr> DeclareShare() const;

  // Memory to local memory. Bases have `suffix` in their names; the tile begins at `buffer`.
  sem::StmtPtr Copy(const std::string& suffix, const sem::ExprPtr& buffer) const;
  // The same in two parts, through variables of the work-item.
  sem::StmtPtr DeclareNext() const;
  sem::StmtPtr Fetch(const std::string& suffix) const;
  sem::StmtPtr Put(const sem::ExprPtr& buffer) const;

  // The work-item's elements at its current position: `lanes` neighbours along the plan's vector
  // index.
  sem::ExprPtr Read(const sem::ExprPtr& buffer, int lanes) const;

 private:
  struct Element {
    sem::ExprPtr from;    // in memory
    sem::ExprPtr to;      // in the tile
    sem::ExprPtr slot;    // among the work-item's own
    sem::ExprPtr within;  // the element is one of the tile; null: true
    sem::ExprPtr valid;   // it is not to be filled in; null: true
  };
  template <class Body>
  sem::StmtPtr ForEachElement(const std::string& suffix, const sem::ExprPtr& buffer,
                              Body body) const;
  sem::ExprPtr Position(size_t dim) const;
  sem::ExprPtr From(const std::string& suffix) const;
  sem::ExprPtr Clamped(sem::ExprPtr index) const;
  sem::ExprPtr Valid(const math::RangeConstraint& constraint, const std::string& suffix) const;
  sem::ExprPtr Loaded(const Element& element) const;
  sem::StmtPtr StoreToTile(const sem::ExprPtr& to, const sem::ExprPtr& value,
                           const std::string& suffix) const;
  std::string Name(const char* what) const;
  std::string RoundName(size_t dim) const;
  sem::ExprPtr Round(size_t dim) const;

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
