// SPDX-License-Identifier: Apache-2.0
// What all parts of a work-group's kernel share: names and expressions for where a work-group, a
// step of its loop and a work-item are in the index space.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tile/loop/build.h"
#include "tile/lower/expr_emitter.h"
#include "tile/plan/gpu/gpu_plan.h"
#include "tile/poly/flat_contraction.h"

namespace tartan::lower {

// Output indices, and the values that they have in the group.
using GroupOrigins = std::map<int, loop::ExprPtr>;

// The value of an index is base + thread + offset: `base` is where the tile begins, `thread` where
// the work-item's share of it does, `offset` which of its own values.
class GroupContext {
 public:
  // `origins`: where the group is along output indices of which it has one value; null: its number
  // says that, otherwise it is alone along all others.
  // `loads_first`: see ExprEmitter::LoadBeforeChoices.
  GroupContext(const poly::FlatContraction& flat, const plan::GpuPlan& plan, DataType index_type,
               const GroupOrigins* origins = nullptr, bool loads_first = true);

  const poly::FlatContraction& flat() const { return flat_; }
  // The same with ranges rounded up to whole tiles: what index values really reach.
  const poly::FlatContraction& padded() const { return padded_; }
  const plan::GpuPlan& plan() const { return plan_; }
  bool loads_first() const { return loads_first_; }
  bool has_tile_sets() const { return plan_.tile_sets() > 1; }
  int index_count() const { return static_cast<int>(flat_.indices.size()); }
  int output_count() const { return flat_.output_index_count; }
  bool is_output(int i) const { return i < output_count(); }
  const plan::IndexSplit& split(int i) const { return plan_.splits[i]; }
  int64_t TileCount(int i) const { return padded_.indices[i].range / split(i).tile(); }
  bool IsRagged(int i) const { return padded_.indices[i].range != flat_.indices[i].range; }
  // The constraints that index values past an output index's range violate.
  std::vector<math::RangeConstraint> OutputRanges() const;
  int lanes() const;  // of plan().lane_index
  bool lanes_are_output() const { return lanes() > 1 && is_output(plan_.lane_index); }

  DataType index_type() const { return index_type_; }
  loop::ExprPtr Number(int64_t value) const { return loop::Int(value, index_type_); }
  loop::Type IndexType() const { return {index_type_, 1}; }
  loop::ExprPtr Var(const std::string& name) const { return loop::Var(name, IndexType()); }
  const std::string& name(int i) const { return names_[i]; }

  // Declares "item" (in the group) and what follows from it and, without origins, from the group's
  // number.
  std::vector<loop::StmtPtr> DeclareGroup() const;
  // Declares the bases of reduced indices at a step, with `suffix` added to their names.
  std::vector<loop::StmtPtr> DeclareStep(const loop::ExprPtr& step,
                                         const std::string& suffix) const;
  loop::ExprPtr Base(int i, const std::string& suffix = "") const;
  loop::ExprPtr Thread(int i) const;
  // The position among the work-items that share an output element.
  loop::ExprPtr PartialThread() const;
  // `item / below % count`.
  loop::ExprPtr Digit(const loop::ExprPtr& number, int64_t below, int64_t count,
                      int64_t total) const;

  // Which of its own values a work-item is at: a number below split(i).held(), for the lane index
  // below split(i).blocks.
  void SetOwn(int i, loop::ExprPtr own) { own_[i] = std::move(own); }
  const loop::ExprPtr& own(int i) const { return own_[i]; }
  int64_t OwnCount(int i) const { return plan_.OwnCount(i); }
  loop::ExprPtr Offset(int i) const;
  // An emitter for the current position; bases have the suffix.
  IndexEmitter Indices() const;

  // Unrolled loops over the work-item's own values of the given indices, the last innermost.
  loop::StmtPtr ForOwn(const std::vector<int>& indices, const std::function<loop::StmtPtr()>& body);

 private:
  std::vector<loop::StmtPtr> DeclareBases() const;

  const poly::FlatContraction& flat_;
  const plan::GpuPlan& plan_;
  const GroupOrigins* const origins_;
  const bool loads_first_;
  poly::FlatContraction padded_;
  const DataType index_type_;
  std::vector<std::string> names_;
  std::vector<loop::ExprPtr> own_;
};

}  // namespace tartan::lower
